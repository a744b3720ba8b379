package relay_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"doze/driver/shepherd/relay"
)

func TestRelay_resting_tellsOfTheNextByteAndLosesNone(t *testing.T) {
	var r relay.Relay
	woken := make(chan struct{}, 10)
	client, app, over := join(t, &r, &relay.Pair{Woken: func() error {
		woken <- struct{}{}
		r.Resume()
		return nil
	}})
	buf := make([]byte, 5)
	for _, text := range []string{"first", "again"} {
		r.Rest()
		select {
		case <-woken:
			t.Fatal("woken by nothing")
		case <-time.After(10 * time.Millisecond):
		}
		if _, err := client.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		<-woken
		if _, err := io.ReadFull(app, buf); err != nil || string(buf) != text {
			t.Fatalf("%q %v", buf, err)
		}
	}
	if _, err := client.Write([]byte("plain")); err != nil { // awake: not told
		t.Fatal(err)
	}
	if _, err := io.ReadFull(app, buf); err != nil || len(woken) != 0 {
		t.Fatalf("%q %v, told %d times", buf, err, len(woken))
	}
	_, _ = client.Close(), app.Close()
	over.Wait()
}

// The application is put to sleep again and again while a long message is on its way.
func TestRelay_restingInALongMessage_losesNothing(t *testing.T) {
	var r relay.Relay
	client, app, over := join(t, &r, &relay.Pair{Woken: func() error { r.Resume(); return nil }})
	done := make(chan struct{})
	var resting sync.WaitGroup
	resting.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(100 * time.Microsecond):
				r.Rest()
			}
		}
	})
	exchange(t, client, app, bytes.Repeat([]byte("0123456789abcdef!"), 1_000_000))
	close(done)
	resting.Wait()
	exchange(t, client, app, []byte("and then"))
	_, _ = client.Close(), app.Close()
	over.Wait()
}

// Several clients talk at once, some of them slow to listen, while the application sleeps and
// wakes: every byte arrives, in its place.
func TestRelay_manyPairsThatSleep_loseNothing(t *testing.T) {
	var r relay.Relay
	wake := func() error { r.Resume(); return nil }
	done := make(chan struct{})
	var sleeping, talking sync.WaitGroup
	sleeping.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-time.After(time.Millisecond):
				r.Rest()
			}
		}
	})
	for i := range 12 {
		client, app, over := join(t, &r, &relay.Pair{Woken: wake})
		random := rand.New(rand.NewPCG(1, uint64(i)))
		up, down := noise(random), noise(random)
		talking.Go(func() { talk(t, client, up) })
		talking.Go(func() { listen(t, client, down) })
		talking.Go(func() { listen(t, app, up) })
		talking.Go(func() { talk(t, app, down) })
		talking.Go(over.Wait)
	}
	talking.Wait()
	close(done)
	sleeping.Wait()
	if n := r.Len(); n != 0 {
		t.Errorf("%d pairs are left", n)
	}
}

func noise(random *rand.Rand) []byte {
	b := make([]byte, 1<<20)
	for at := range b {
		b[at] = byte(random.Uint32())
	}
	return b
}

func listen(t *testing.T, conn *net.TCPConn, want []byte) {
	got, err := io.ReadAll(conn)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d of %d bytes arrived: %v", len(got), len(want), err)
	}
}

// talk sends text in pieces of many lengths, and ends.
func talk(t *testing.T, conn *net.TCPConn, text []byte) {
	for n := 1; len(text) > 0; n = n*3 + 1 {
		if n > len(text)/2 {
			n = min(n%5000+1, len(text))
		}
		if _, err := conn.Write(text[:n]); err != nil {
			t.Error(err)
			return
		}
		text = text[n:]
	}
	if err := conn.CloseWrite(); err != nil {
		t.Error(err)
	}
}

// flood sends until there is no more room on the whole way, and returns how much went off.
func flood(t *testing.T, conn *net.TCPConn) (n int) {
	t.Helper()
	for block := make([]byte, 64<<10); ; {
		if err := conn.SetWriteDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		sent, err := conn.Write(block)
		n += sent
		if errors.Is(err, os.ErrDeadlineExceeded) {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestRelay_clientThatDoesNotListen_holdsNobodyUp(t *testing.T) {
	var r relay.Relay
	deaf, speaks, over := join(t, &r, &relay.Pair{})
	n := flood(t, speaks)
	client, app, _ := join(t, &r, &relay.Pair{})
	exchange(t, client, app, []byte("hello"))
	if err := speaks.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	exchange(t, deaf, speaks, []byte("the other way"))
	if got, err := io.ReadAll(deaf); err != nil || len(got) != n {
		t.Fatalf("%d of %d bytes, %v", len(got), n, err)
	}
	_ = deaf.Close()
	over.Wait()
}

// Whoever has gone is told of again and again by the kernel, while what it has sent waits.
func TestRelay_senderGoneBeforeTheRestHasRoom_costsNothing(t *testing.T) {
	deaf, gone, over := join(t, &relay.Relay{}, &relay.Pair{})
	flood(t, gone)
	if err := errors.Join(gone.SetLinger(0), gone.Close()); err != nil {
		t.Fatal(err)
	}
	before := ran(t)
	<-time.After(300 * time.Millisecond)
	if took := ran(t) - before; took > 100*time.Millisecond {
		t.Errorf("it ran for %s of 300ms", took)
	}
	if got, _ := io.ReadAll(deaf); len(got) == 0 { // a reset, after what had arrived before
		t.Error("nothing arrived")
	}
	_ = deaf.Close()
	over.Wait()
}

// ran is how long this process has had a processor.
func ran(t *testing.T) time.Duration {
	t.Helper()
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		t.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// What a client has sent and a sleeping application has not taken may be all that it ever
// sends.
func TestRelay_restingInAnUpload_wakesAtOnce(t *testing.T) {
	var r relay.Relay
	woken := make(chan struct{}, 1)
	client, app, over := join(t, &r, &relay.Pair{Woken: func() error {
		r.Resume()
		woken <- struct{}{}
		return nil
	}})
	n := flood(t, client)
	r.Rest()
	<-woken
	if err := client.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(app); err != nil || len(got) != n {
		t.Fatalf("%d of %d bytes, %v", len(got), n, err)
	}
	_, _ = client.Close(), app.Close()
	over.Wait()
}

func TestRelay_clientHungUpBefore_isNotWokenFor(t *testing.T) {
	for range 50 {
		var r relay.Relay
		client, app, over := join(t, &r, &relay.Pair{Woken: func() error {
			t.Error("woken for one who has gone")
			r.Resume()
			return nil
		}})
		exchange(t, client, app, []byte("hello"))
		if err := client.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		r.Rest()
		if rest, err := io.ReadAll(app); err != nil || len(rest) > 0 {
			t.Errorf("%q %v", rest, err)
		}
		_, _ = client.Close(), app.Close()
		over.Wait()
	}
}

func TestRelay_joinedWhileResting_wakesAtOnce(t *testing.T) {
	var r relay.Relay
	r.Rest()
	client, app, over := join(t, &r, &relay.Pair{Head: []byte("head"), Woken: func() error {
		r.Resume()
		return nil
	}})
	buf := make([]byte, 4)
	if _, err := io.ReadFull(app, buf); err != nil || string(buf) != "head" {
		t.Errorf("%q %v", buf, err)
	}
	_, _ = client.Close(), app.Close()
	over.Wait()
}

func TestRelay_asleepAgainBeforeTheByteWent_isWokenAgain(t *testing.T) {
	var r relay.Relay
	var wakes atomic.Int32
	client, app, over := join(t, &r, &relay.Pair{Woken: func() error {
		if wakes.Add(1) == 3 {
			r.Resume()
		}
		return nil
	}})
	r.Rest()
	exchange(t, client, app, []byte("hello"))
	if n := wakes.Load(); n != 3 {
		t.Errorf("it was woken %d times", n)
	}
	_, _ = client.Close(), app.Close()
	over.Wait()
}

// An application may answer before it has read the whole request, and be gone: its answer goes on
// although the rest of the request goes nowhere.
func TestRelay_answerOfOneWhoHasGone_arrives(t *testing.T) {
	for range 100 {
		client, app, over := join(t, &relay.Relay{}, &relay.Pair{})
		var sending sync.WaitGroup
		sending.Go(func() {
			for block := make([]byte, 4<<10); ; {
				if _, err := client.Write(block); err != nil {
					return // as it should
				}
			}
		})
		if _, err := io.ReadFull(app, make([]byte, 1024)); err != nil {
			t.Fatal(err)
		}
		if _, err := app.Write([]byte("too large")); err != nil {
			t.Fatal(err)
		}
		_ = app.Close() // with unread bytes: a reset
		if got, err := io.ReadAll(client); string(got) != "too large" {
			t.Fatalf("%q %v", got, err)
		}
		_ = client.Close()
		sending.Wait()
		over.Wait()
	}
}

// The same where the answer waits for room, and the client says that it has sent everything.
func TestRelay_clientEndsAfterTheSenderHasGone_getsWhatWasSent(t *testing.T) {
	slow, gone, over := join(t, &relay.Relay{}, &relay.Pair{})
	arrived := flood(t, gone) - unsent(t, gone)
	if err := errors.Join(gone.SetLinger(0), gone.Close()); err != nil {
		t.Fatal(err)
	}
	if err := slow.CloseWrite(); err != nil {
		t.Fatal(err)
	}
	<-time.After(20 * time.Millisecond)
	if got, _ := io.ReadAll(slow); len(got) != arrived { // and a reset
		t.Errorf("%d bytes of %d arrived", len(got), arrived)
	}
	_ = slow.Close()
	over.Wait()
}

// unsent is how many bytes have not arrived at the other end's host.
func unsent(t *testing.T, conn *net.TCPConn) (n int) {
	t.Helper()
	raw, err := conn.SyscallConn()
	if err == nil {
		err = raw.Control(func(fd uintptr) { n, err = unix.IoctlGetInt(int(fd), unix.SIOCOUTQ) })
	}
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestRelay_cannotBeWoken_endsBothSides(t *testing.T) {
	var r relay.Relay
	client, app, over := join(t, &r, &relay.Pair{Woken: func() error { return errors.New("no") }})
	r.Rest()
	if _, err := client.Write([]byte("hello")); err != nil {
		t.Fatal(err)
	}
	over.Wait()
	for _, conn := range []net.Conn{client, app} { // an end would say that all has arrived
		if n, err := conn.Read(make([]byte, 1)); !errors.Is(err, unix.ECONNRESET) {
			t.Errorf("%d bytes, %v", n, err)
		}
	}
}

func TestRelay_closed_endsWhatIsOpenAndWhatComes(t *testing.T) {
	before := descriptors(t)
	var r relay.Relay
	var all []*sync.WaitGroup
	for range 10 {
		client, app, over := join(t, &r, &relay.Pair{})
		exchange(t, client, app, []byte("hello"))
		all = append(all, over)
		defer client.Close()
		defer app.Close()
	}
	r.Close()
	for _, over := range all {
		over.Wait()
	}
	p := &relay.Pair{Over: func() { t.Error("it was never open") }}
	client, there := connect(t)
	here, app := connect(t)
	p.Client, p.App = there, here
	if err := r.Join(p); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	for _, conn := range []net.Conn{client, app} {
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, unix.ECONNRESET) {
			t.Error(err)
		}
	}
	awaitDescriptors(t, before+22) // what this test holds
}

func TestRelay_withoutDescriptors_resetsBothSides(t *testing.T) {
	p := &relay.Pair{Over: func() { t.Error("it was never open") }}
	client, there := connect(t)
	here, app := connect(t)
	p.Client, p.App = there, here
	withoutDescriptors(t, func() {
		if err := new(relay.Relay).Join(p); !errors.Is(err, unix.EMFILE) {
			t.Error(err)
		}
	})
	for _, conn := range []net.Conn{client, app} {
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, unix.ECONNRESET) {
			t.Error(err)
		}
	}
}

// withoutDescriptors runs f while this process can open nothing.
func withoutDescriptors(t *testing.T, f func()) {
	t.Helper()
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	none := unix.Rlimit{Cur: 1, Max: old.Max} // stdin
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Fatal(err)
	}
	f()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
}
