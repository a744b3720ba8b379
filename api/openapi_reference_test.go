package api

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gorilla/mux"

	"doze/api/wire"
)

// wireDocs reads the doc comments of package wire.
func wireDocs(t *testing.T) map[string]string {
	files, err := filepath.Glob("wire/*.go")
	if err != nil {
		t.Fatal(err)
	}
	docs := map[string]string{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range parsed.Decls {
			if gen, ok := decl.(*ast.GenDecl); ok && gen.Tok == token.TYPE {
				addTypeDocs(docs, gen)
			}
		}
	}
	return docs
}

func addTypeDocs(docs map[string]string, gen *ast.GenDecl) {
	for _, spec := range gen.Specs {
		named := spec.(*ast.TypeSpec)
		docs[named.Name.Name] = oneLine(gen.Doc)
		fields, ok := named.Type.(*ast.StructType)
		if !ok {
			continue
		}
		last := ""
		for _, f := range fields.Fields.List {
			if f.Doc != nil {
				last = oneLine(f.Doc)
			}
			for _, name := range f.Names {
				docs[named.Name.Name+"."+name.Name] = last
			}
		}
	}
}

func oneLine(doc *ast.CommentGroup) string {
	return strings.Join(strings.Fields(doc.Text()), " ")
}

// routedBy lists what the router knows, besides the page's assets.
func routedBy(t *testing.T) (routes []string) {
	c := newControl(ControlConfig{Metrics: http.NotFoundHandler()})
	assets := map[string]bool{}
	for _, e := range endpoints() {
		assets[e.path] = e.asset
	}
	err := c.router.Walk(func(route *mux.Route, _ *mux.Router, _ []*mux.Route) error {
		path, err := route.GetPathTemplate()
		if err != nil || assets[path] {
			return err
		}
		methods, err := route.GetMethods()
		if err != nil {
			return nil // the route that refuses all other methods
		}
		for _, m := range methods {
			if m != http.MethodHead {
				routes = append(routes, m+" "+path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return routes
}

// reference writes docs/api.md from the decoded OpenAPI document.
func reference(doc object) string {
	var b strings.Builder
	b.WriteString("# The control API\n\n" +
		"<!-- Generated from api/openapi.json; do not edit. -->\n\n" +
		doc["info"].(object)["description"].(string) + "\n\n" + referenceIntro)
	paths := doc["paths"].(object)
	b.WriteString("## Requests\n\n")
	for _, e := range endpoints() {
		if !e.asset {
			op := paths[e.path].(object)[strings.ToLower(e.method)].(object)
			writeOperation(&b, e.method+" "+e.path, op)
		}
	}
	writeProblems(&b)
	b.WriteString("## Shapes\n\n")
	schemas := doc["components"].(object)["schemas"].(object)
	for _, name := range slices.Sorted(maps.Keys(schemas)) {
		writeShape(&b, name, schemas[name].(object))
	}
	return strings.TrimRight(b.String(), "\n") + "\n"
}

const referenceIntro = "```sh\n" + `api=http://127.0.0.1:4660
curl $api/v1/groups
curl -X POST "$api/v1/groups/default/web/app/wake?wait=30s"
curl -X PUT "$api/v1/groups/default/web/app/lease/demo?for=2h"
curl -N $api/v1/events
` + "```" + `

Only groups that opted in can be named; anything else is 404.

The API listens on 127.0.0.1:4660. On any other address than a loopback one it asks for
authentication and does not start without: a file of bearer tokens, or Nomad's own ACLs, by
which the caller's token must itself be able to read, or to scale, the job. Listings and event
streams leave out what the caller may not read. ` + "`/livez`" + ` and ` + "`/readyz`" + ` answer
before every rule; ` + "`/metrics`" + `, ` + "`/v1/openapi.json`" + ` and the page itself need
no token.

Requests must name this API by IP address, as localhost or under a configured host (421
otherwise), and a browser may only write from the API's own page (403 otherwise). GET also
answers HEAD; any other method is 405 with Allow.

`

func writeOperation(b *strings.Builder, title string, op object) {
	fmt.Fprintf(b, "### %s\n\n%s\n\n", title, op["description"])
	params, _ := op["parameters"].([]any)
	for _, each := range params {
		p := each.(object)
		if p["in"] == "path" {
			continue
		}
		fmt.Fprintf(b, "- `%s` (%s): %s%s\n", p["name"], p["in"], p["description"], extras(p))
	}
	if op["requestBody"] != nil {
		b.WriteString("- body (optional): `application/json`, a [Command](#command)\n")
	}
	responses := op["responses"].(object)
	for _, status := range slices.Sorted(maps.Keys(responses)) {
		if status == "default" {
			continue
		}
		r := responses[status].(object)
		fmt.Fprintf(b, "- **%s**: %s%s\n", status, r["description"], contentOf(r))
	}
	b.WriteString("\n")
}

func extras(p object) string {
	text := ""
	if limits, ok := p["schema"].(object)["description"].(string); ok {
		text += " A duration, " + limits + "."
	}
	if example, ok := p["example"].(string); ok {
		text += " Example: `" + example + "`."
	}
	return text
}

func contentOf(response object) string {
	for mediaType, content := range response["content"].(object) {
		if schema, ok := content.(object)["schema"].(object); ok {
			return " " + typeOf(schema)
		}
		return " `" + mediaType + "`"
	}
	return ""
}

// typeOf names a schema's type, as a link where it has a heading of its own.
func typeOf(schema object) string {
	if ref, ok := schema["$ref"].(string); ok {
		name := ref[strings.LastIndex(ref, "/")+1:]
		return fmt.Sprintf("[%s](#%s)", name, strings.ToLower(name))
	}
	if schema["type"] == "array" {
		return "list of " + typeOf(schema["items"].(object))
	}
	if format, ok := schema["format"].(string); ok {
		return strings.ReplaceAll(format, "date-time", "time")
	}
	return schema["type"].(string)
}

func writeProblems(b *strings.Builder) {
	b.WriteString("## Problems\n\nEvery error is `" + problemType + "` (RFC 9457), a " +
		"[Problem](#problem) with a stable `type`:\n\n| type | status | means |\n|---|---|---|\n")
	for _, k := range problemKinds {
		fmt.Fprintf(b, "| `%s` | %d | %s |\n", k.urn, k.status, k.title)
	}
	b.WriteString("\n")
}

func writeShape(b *strings.Builder, name string, schema object) {
	fmt.Fprintf(b, "### %s\n\n%s\n\n", name, schema["description"])
	b.WriteString("| field | type | |\n|---|---|---|\n")
	required := schema["required"].([]any)
	properties := schema["properties"].(object)
	for _, field := range slices.Sorted(maps.Keys(properties)) {
		p := properties[field].(object)
		optional := ""
		if !slices.Contains(required, any(field)) {
			optional = ", optional"
		}
		fmt.Fprintf(b, "| `%s` | %s%s | %s |\n", field, typeOf(p), optional,
			strings.ReplaceAll(fmt.Sprint(p["description"]), "|", "\\|"))
	}
	b.WriteString("\n")
	if name == "Event" || name == "Reset" {
		fmt.Fprintf(b, "Sent by `GET %s` as the data of one event.\n\n", wire.EventsPath)
	}
}
