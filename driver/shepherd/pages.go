package shepherd

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// pages are a stretch of this process's memory.
type pages struct{ from, to uintptr }

// programPages are the parts of the program that are never written to: its code, constants
// and Go's tables.
func programPages() ([]pages, error) {
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return nil, fmt.Errorf("cannot find the program in memory: %w", err)
	}
	self, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return nil, fmt.Errorf("cannot find the program in memory: %w", err)
	}
	var program []pages
	for line := range strings.Lines(string(maps)) {
		if p, ok := unchanging(strings.TrimSuffix(line, "\n"), self); ok {
			program = append(program, p)
		}
	}
	return program, nil
}

// unchanging reads a line of proc_pid_maps(5), and reports whether it is about such a part.
func unchanging(line, program string) (pages, bool) {
	span, rest, _ := strings.Cut(line, " ")
	mode, _, _ := strings.Cut(rest, " ")
	if (mode != "r-xp" && mode != "r--p") || !strings.HasSuffix(line, " "+program) {
		return pages{}, false
	}
	first, end, _ := strings.Cut(span, "-")
	from, errFrom := strconv.ParseUint(first, 16, 64)
	to, errTo := strconv.ParseUint(end, 16, 64)
	return pages{uintptr(from), uintptr(to)}, errFrom == nil && errTo == nil
}

// drop gives the pages back. When one is touched it comes again, from the page cache.
func (p pages) drop() error {
	_, _, errno := unix.Syscall(unix.SYS_MADVISE, p.from, p.to-p.from, unix.MADV_DONTNEED)
	if errno != 0 {
		return fmt.Errorf("cannot give memory back: %w", errno)
	}
	return nil
}

// From linux/userfaultfd.h.
const (
	uffdUserModeOnly = 1
	uffdioAPI        = 0xc018aa3f
	uffdioRegister   = 0xc020aa00
	uffdAPI          = 0xaa
	uffdWPAsync      = 1 << 15 // a feature, from Linux 6.7 on
	uffdModeWP       = 1 << 1
)

// mapSingly has a page mapped only when it is touched itself. Left alone, the kernel maps
// the fifteen around it too, as far as they are in the page cache, and a program of which
// something is used here and there is soon in memory as a whole. It does not where a
// userfaultfd(2) could be asked to write-protect. Nobody asks, so that nothing ever comes
// of it: the descriptor has only to stay open, as long as the process lives.
func mapSingly(program []pages) error {
	fd, _, errno := unix.Syscall(unix.SYS_USERFAULTFD, unix.O_CLOEXEC|uffdUserModeOnly, 0, 0)
	if errno != 0 {
		return fmt.Errorf("cannot have pages mapped singly: %w", errno)
	}
	api := struct{ api, features, ioctls uint64 }{api: uffdAPI, features: uffdWPAsync}
	_, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, uffdioAPI, uintptr(unsafe.Pointer(&api)))
	for _, p := range program {
		if errno == 0 {
			r := struct{ from, size, mode, ioctls uint64 }{
				from: uint64(p.from), size: uint64(p.to - p.from), mode: uffdModeWP,
			}
			_, _, errno = unix.Syscall(unix.SYS_IOCTL, fd, uffdioRegister,
				uintptr(unsafe.Pointer(&r)))
		}
	}
	if errno != 0 {
		return errors.Join(fmt.Errorf("cannot have pages mapped singly: %w", errno),
			unix.Close(int(fd)))
	}
	return nil
}
