package shepherd_test

import (
	"context"
	endian "encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"doze/driver/shepherd"
)

// wireFrame is a frame as package frame's documentation has it, read and written without that
// package: four bytes of length, big endian, one of kind, and the content.
type wireFrame struct {
	kind    byte
	content string
}

func readWire(r io.Reader) (wireFrame, error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return wireFrame{}, err
	}
	content := make([]byte, endian.BigEndian.Uint32(head[:]))
	_, err := io.ReadFull(r, content)
	return wireFrame{head[4], string(content)}, err
}

func (f wireFrame) writeTo(w io.Writer) error {
	head := append(endian.BigEndian.AppendUint32(nil, uint32(len(f.content))), f.kind)
	_, err := w.Write(append(head, f.content...))
	return err
}

// String is the frame as a line of a golden has it: a message as it is, bytes in quotes.
func (f wireFrame) String() string {
	if f.kind == 'm' {
		return "m " + f.content
	}
	return fmt.Sprintf("%c %q", f.kind, f.content)
}

func parseWire(t *testing.T, line string) wireFrame {
	t.Helper()
	kind, content, _ := strings.Cut(line, " ")
	f := wireFrame{kind[0], content}
	if f.kind != 'm' {
		var err error
		if f.content, err = strconv.Unquote(content); err != nil {
			t.Fatalf("cannot read %q: %v", line, err)
		}
	}
	return f
}

// answer is a frame that a shepherd sends when its caller has sent as many as it awaits.
type answer struct {
	awaits int
	wireFrame
}

func message(awaits int, v any) answer {
	content, err := json.Marshal(v)
	if err != nil {
		content = []byte(err.Error()) // is no golden
	}
	return answer{awaits, wireFrame{'m', string(content)}}
}

// play makes a call of a shepherd that says what the script says. It returns what has gone over
// the wire: > from the client, < to it.
func play(
	t *testing.T, script []answer, call func(context.Context, *shepherd.Client) (any, error),
) (lines []string, result any, err error) {
	t.Helper()
	dir := socketDir(t)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	said := make(chan []string, 1)
	go func() { // ends with the client's connection, which ends with ctx
		defer close(said)
		conn, err := l.Accept()
		if err != nil {
			t.Errorf("nobody has called: %v", err)
			return
		}
		defer conn.Close()
		// Gone when it has answered: a client waits for that after destroy.
		lines, last, err := perform(conn, script)
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
		if err == nil && last != nil {
			err = last.writeTo(conn)
		}
		if err != nil {
			t.Errorf("after %q: %v", lines, err)
		}
		said <- lines
	}()
	result, err = call(ctx, shepherd.At(dir))
	if err != nil {
		_ = l.Close() // whoever has not called will not
	}
	return <-said, result, err
}

// perform plays a script but for its last frame, which it returns. What a client sends at once
// after its request is told in the order of its kinds.
func perform(conn io.ReadWriter, script []answer) (lines []string, last *wireFrame, err error) {
	for i, a := range script {
		var sent []string
		for range a.awaits {
			f, err := readWire(conn)
			if err != nil {
				return append(lines, sent...), nil, err
			}
			sent = append(sent, "> "+f.String())
		}
		if len(sent) > 1 {
			slices.SortStableFunc(sent[1:], func(a, b string) int {
				return strings.Compare(a[:len("> m")], b[:len("> m")])
			})
		}
		lines = append(append(lines, sent...), "< "+a.String())
		if i == len(script)-1 {
			return lines, &a.wireFrame, nil
		}
		if err := a.writeTo(conn); err != nil {
			return lines, nil, err
		}
	}
	return lines, nil, nil
}
