package api_test

import (
	"bufio"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"doze/api"
	"doze/idle"
)

// field case 5: method, body and status go through as they are, body and all once.
func TestBody_hugePostToSleepingGroup_arrivesOnceByteForByte(t *testing.T) {
	const size = 100 << 20
	requests := atomic.Int32{}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		sum := sha256.New()
		n, err := io.Copy(sum, r.Body)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "%s %d %v %x", r.Method, n, err, sum.Sum(nil))
	})
	onServer(t, setup{app: &app{handler: handler, bootTime: time.Second}}, func(w *world) {
		source := func() io.Reader {
			return io.LimitReader(rand.NewChaCha8([32]byte{1}), size)
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, source()); err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := w.request("POST", "/upload", source())
		r.ContentLength = size
		a := w.do(r)
		runtime.ReadMemStats(&after)
		w.wantStatus(a, http.StatusCreated)
		if want := fmt.Sprintf("POST %d <nil> %x", size, sum.Sum(nil)); a.body != want {
			t.Errorf("it arrived as %q, want %q", a.body, want)
		}
		if n := requests.Swap(0); n != 1 {
			t.Errorf("it arrived %d times", n)
		}
		if used := (after.TotalAlloc - before.TotalAlloc) >> 20; used > 16 {
			t.Errorf("%d MiB were allocated on the way", used)
		}
	})
}

// field case 5: a held request's body is not read, and 100 Continue not sent, before there
// is a target.
func TestBody_expectContinueToSleepingGroup_isAskedForWhenReady(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.Copy(w, r.Body) })
	inWorld(t, setup{app: &app{handler: handler, bootTime: 3 * time.Second}}, func(w *world) {
		conn, err := w.dialGate(w.t.Context(), "tcp", "")
		w.must(err)
		defer conn.Close()
		start := time.Now()
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n", appHost)
		in := bufio.NewReader(conn)
		line, err := in.ReadString('\n')
		w.must(err)
		w.mustContain(line, "100 Continue")
		if waited := time.Since(start); waited < 3*time.Second {
			t.Errorf("the body was asked for after %v", waited)
		}
		_, err = in.ReadString('\n')
		w.must(err)
		io.WriteString(conn, "body")
		res, err := http.ReadResponse(in, nil)
		w.must(err)
		got, err := io.ReadAll(res.Body)
		w.must(err)
		if string(got) != "body" {
			t.Errorf("echo is %q", got)
		}
	})
}

// A target that will not have the body must be able to say so before it is sent.
func TestBody_expectationRefused_bodyIsNeverAskedFor(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Connection", "close")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
	})
	inWorld(t, setup{app: &app{handler: handler}}, func(w *world) {
		conn, err := w.dialGate(w.t.Context(), "tcp", "")
		w.must(err)
		defer conn.Close()
		fmt.Fprintf(conn, "POST / HTTP/1.1\r\nHost: %s\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n", appHost)
		line, err := bufio.NewReader(conn).ReadString('\n')
		w.must(err)
		w.mustContain(line, "413")
	})
}

// field case 2: a download is in flight until its end, however slow.
func TestBody_slowDownload_outlivesIdleAfter(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for i := range 6 {
			fmt.Fprintf(w, "part %d\n", i)
			http.NewResponseController(w).Flush()
			time.Sleep(idleAfter)
		}
	})
	inWorld(t, setup{app: &app{handler: handler}}, func(w *world) {
		a := w.get("/download")
		w.wantStatus(a, 200)
		w.mustContain(a.body, "part 5")
		if a.took < 6*idleAfter {
			t.Fatalf("it took only %v", a.took)
		}
		w.wantState(idle.Ready)
		time.Sleep(idleAfter - time.Second) // the idle clock starts at the body's end
		w.wantState(idle.Ready)
		time.Sleep(2 * time.Second)
		w.wantState(idle.Asleep)
	})
}

// field case 2: so is an upload.
func TestBody_slowUpload_outlivesIdleAfter(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, err := io.Copy(io.Discard, r.Body)
		fmt.Fprint(w, n, err)
	})
	inWorld(t, setup{app: &app{handler: handler}}, func(w *world) {
		in, out := io.Pipe()
		go func() {
			for range 5 {
				io.WriteString(out, "x")
				time.Sleep(idleAfter)
			}
			out.Close()
		}()
		a := w.do(w.request("POST", "/upload", in))
		w.wantStatus(a, 200)
		w.mustContain(a.body, "5 <nil>")
		if _, sleeps := w.app.counts(); sleeps != 0 {
			t.Error("it fell asleep under the upload")
		}
	})
}

// Server-sent events, and anything else that dribbles, arrive as they are written.
func TestBody_eventsArriveAtOnce(t *testing.T) {
	for name, header := range map[string]http.Header{
		"unknown length": {"Content-Type": {"text/event-stream"}},
		"known length":   {"Content-Length": {"18"}},
	} {
		t.Run(name, func(t *testing.T) {
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				maps.Copy(w.Header(), header)
				for range 3 {
					io.WriteString(w, "data:\n")
					http.NewResponseController(w).Flush()
					time.Sleep(time.Second)
				}
			})
			inWorld(t, setup{app: &app{handler: handler}, awake: true}, func(w *world) {
				res, err := w.client.Do(w.request("GET", "/", nil))
				w.must(err)
				defer res.Body.Close()
				start := time.Now()
				buf := make([]byte, 6)
				for i := range 3 {
					_, err := io.ReadFull(res.Body, buf)
					w.must(err)
					if late := time.Since(start) - time.Duration(i)*time.Second; late != 0 {
						t.Errorf("event %d came %v late", i, late)
					}
				}
			})
		})
	}
}

// Both directions at once, over HTTP/1.1 and with an answer that begins before the body ends.
func TestBody_earlyAnswer_streamsBothWays(t *testing.T) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctl := http.NewResponseController(w)
		ctl.EnableFullDuplex()
		buf := make([]byte, 4)
		for {
			if _, err := io.ReadFull(r.Body, buf); err != nil {
				return
			}
			w.Write(buf)
			ctl.Flush()
		}
	})
	inWorld(t, setup{app: &app{handler: handler}}, func(w *world) {
		in, out := io.Pipe()
		res := make(chan *http.Response, 1)
		go func() {
			r, err := w.client.Do(w.request("POST", "/", in))
			if err != nil {
				t.Error(err)
			}
			res <- r
		}()
		io.WriteString(out, "ping")
		r := <-res
		defer r.Body.Close()
		for i := range 3 {
			buf := make([]byte, 4)
			_, err := io.ReadFull(r.Body, buf)
			w.must(err)
			if string(buf) != "ping" {
				t.Errorf("echo %d is %q", i, buf)
			}
			time.Sleep(2 * idleAfter)
			io.WriteString(out, "ping")
		}
		out.Close()
		if _, sleeps := w.app.counts(); sleeps != 0 {
			t.Error("it fell asleep under the stream")
		}
	})
}

// A client that leaves frees its place and cancels nothing.
func TestBody_clientLeavesWhileHeld_freesItsPlace(t *testing.T) {
	s := setup{site: api.Site{MaxHeld: 1}, app: &app{bootTime: 5 * time.Second}}
	inWorld(t, s, func(w *world) {
		conn, err := w.dialGate(w.t.Context(), "tcp", "")
		w.must(err)
		fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: %s\r\n\r\n", appHost)
		time.Sleep(time.Second)
		w.wantStatus(w.get("/"), 503) // the only place is taken
		conn.Close()
		synctest.Wait()
		if n := w.group.Status().InFlight; n != 0 {
			t.Errorf("in flight: %d", n)
		}
		w.wantStatus(w.get("/"), 200)
		w.wantWakes(1)
	})
}

// An answer that breaks off must not look whole.
func TestBody_targetBreaksOff_clientSeesIt(t *testing.T) {
	for name, header := range map[string]http.Header{
		"unknown length": {}, "known length": {"Content-Length": {"1000"}},
	} {
		t.Run(name, func(t *testing.T) {
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				maps.Copy(w.Header(), header)
				io.WriteString(w, "half")
				http.NewResponseController(w).Flush()
				panic(http.ErrAbortHandler)
			})
			inWorld(t, setup{app: &app{handler: handler}, awake: true}, func(w *world) {
				res, err := w.client.Do(w.request("GET", "/", nil))
				w.must(err)
				defer res.Body.Close()
				if got, err := io.ReadAll(res.Body); err == nil {
					t.Errorf("read %q without an error", got)
				} else if errors.Is(err, io.EOF) {
					t.Errorf("error is %v", err)
				}
				if n := w.group.Status().InFlight; n != 0 {
					t.Errorf("in flight: %d", n)
				}
			})
		})
	}
}

// What has begun to be sent is never sent twice.
func TestBody_targetDiesBeforeItAnswers_requestIsNotRepeated(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		t.Run(method, func(t *testing.T) {
			requests := atomic.Int32{}
			handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				panic(http.ErrAbortHandler)
			})
			inWorld(t, setup{app: &app{handler: handler}, awake: true}, func(w *world) {
				a := w.do(w.request(method, "/", strings.NewReader("body")))
				w.wantStatus(a, http.StatusBadGateway)
				if n := requests.Swap(0); n != 1 {
					t.Errorf("it was sent %d times", n)
				}
			})
		})
	}
}
