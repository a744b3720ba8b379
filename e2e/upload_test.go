//go:build e2e

package e2e

import (
	"crypto/sha256"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"testing"
	"time"

	"doze/api/wire"
)

const uploadSize = 100_000_000

// field cases 2 and 5: a 100 MB POST to a sleeping group arrives once, byte for byte, while
// doze stays under 64 MiB.
func TestUpload_100MBToSleepingGroup_arrivesOnceInLittleMemory(t *testing.T) {
	onEveryCluster(t, func(t *testing.T, c *cluster) {
		c.register(t, jobSpec{id: "upload", app: "web",
			env: map[string]string{"E2E_DELAY": "1s"}})
		d := startDoze(t, c)
		d.waitState("upload", wire.Asleep)
		sum := sha256.New()
		body := io.TeeReader(io.LimitReader(rand.NewChaCha8([32]byte{1}), uploadSize), sum)
		req, err := http.NewRequest(http.MethodPost, "http://upload.localhost/sum", body)
		fail(t, err)
		req.ContentLength = uploadSize
		got, err := d.send(req)
		fail(t, err)
		if want := fmt.Sprintf("%d %x", uploadSize, sum.Sum(nil)); got.body != want {
			t.Errorf("status %d, got %.100q, want %.100q", got.status, got.body, want)
		}
		_, peak := d.rss()
		fmt.Printf("upload (%s): %s, doze's peak memory %d MiB\n", t.Name(),
			got.took.Round(time.Millisecond), peak>>20)
		if peak > 64<<20 {
			t.Errorf("doze used %d MiB", peak>>20)
		}
	})
}
