package api

import (
	"embed"
	"net/http"

	"doze/api/wire"
)

// The page's files. They hold nothing of any group and are served to everybody; what the
// page shows it asks the API for, with the reader's token.
//
//go:embed ui
var pageFiles embed.FS

// pagePolicy lets the page load its own script and style, ask its own API, and nothing else.
const pagePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; " +
	"connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// pageEndpoints serve the page and what it loads.
func pageEndpoints() []endpoint {
	page := func(path, file, mediaType string) endpoint {
		return endpoint{
			id: "page", method: http.MethodGet, path: path, open: true, asset: path != wire.UIPath,
			doc:     "Show the groups on a web page.",
			answers: []answer{{200, nil, "text/html", "The page."}},
			serve: func(c *control, w http.ResponseWriter, _ *call) error {
				return servePage(w, file, mediaType)
			},
		}
	}
	toPage := func(path string) endpoint {
		return endpoint{method: http.MethodGet, path: path, open: true, asset: true,
			serve: func(_ *control, w http.ResponseWriter, r *call) error {
				http.Redirect(w, r.Request, wire.UIPath, http.StatusFound)
				return nil
			}}
	}
	return []endpoint{
		page(wire.UIPath, "index.html", "text/html; charset=utf-8"),
		page(wire.UIPath+"page.js", "page.js", "text/javascript; charset=utf-8"),
		page(wire.UIPath+"events.js", "events.js", "text/javascript; charset=utf-8"),
		page(wire.UIPath+"page.css", "page.css", "text/css; charset=utf-8"),
		page(wire.UIPath+"icon.svg", "icon.svg", "image/svg+xml"),
		toPage("/"), toPage("/ui"),
	}
}

func servePage(w http.ResponseWriter, file, mediaType string) error {
	text, err := pageFiles.ReadFile("ui/" + file)
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Content-Security-Policy", pagePolicy)
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	_, _ = w.Write(text) // a client that has gone needs no page
	return nil
}
