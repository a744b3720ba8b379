package api_test

import (
	"regexp"
	"strings"
	"testing"
)

func TestPage_needsNoTokenAndLoadsNothingFromElsewhere(t *testing.T) {
	inControlWorld(t, authBy(denyAll{}), func(t *testing.T, w *controlWorld) {
		page := w.do("GET", "/ui/", "")
		policy := page.header.Get("Content-Security-Policy")
		for _, rule := range []string{"default-src 'none'", "script-src 'self'",
			"frame-ancestors 'none'"} {
			if !strings.Contains(policy, rule) {
				t.Errorf("policy %q lacks %q", policy, rule)
			}
		}
		// What the policy would keep from working must not be there at all.
		for _, bad := range []string{"<style", " style=", " onclick=", "<script>", "//", "unsafe"} {
			if strings.Contains(page.text+policy, bad) {
				t.Errorf("the page has %q in it", bad)
			}
		}
		loaded := regexp.MustCompile(`(?:src|href)="([^"]+)"`).FindAllStringSubmatch(page.text, -1)
		if len(loaded) < 4 {
			t.Errorf("the page loads only %v", loaded)
		}
		for _, file := range append(loaded, []string{"", "events.js"}) {
			a := w.do("GET", "/ui/"+file[1], "")
			if a.status != 200 || a.text == "" ||
				a.header.Get("Content-Security-Policy") != policy {
				t.Errorf("%s: %d %v", file[1], a.status, a.header)
			}
			if strings.Contains(a.text, "https://") {
				t.Errorf("%s names another site", file[1])
			}
		}
	})
}

func TestPage_shortPaths_leadToIt(t *testing.T) {
	inControlWorld(t, nil, func(t *testing.T, w *controlWorld) {
		for _, path := range []string{"/", "/ui"} {
			if a := w.do("GET", path, ""); a.status != 302 || a.header.Get("Location") != "/ui/" {
				t.Errorf("%s: %d %q", path, a.status, a.header.Get("Location"))
			}
		}
	})
}
