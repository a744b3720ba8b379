package api

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"doze/api/wire"
)

var updateReference = flag.Bool("update-reference", false,
	"write openapi.json and docs/api.md anew")

// object is a JSON object; encoding/json sorts its names, so that the document is stable.
type object = map[string]any

// TestOpenAPI_generatedAnew_isWhatIsCommitted makes the OpenAPI document and the reference
// from the table of endpoints and from package wire. With -update-reference it writes them.
func TestOpenAPI_generatedAnew_isWhatIsCommitted(t *testing.T) {
	doc, err := json.MarshalIndent(newDocument(t), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	var decoded object
	if err := json.Unmarshal(doc, &decoded); err != nil {
		t.Fatal(err)
	}
	isCommitted(t, "openapi.json", string(doc)+"\n")
	isCommitted(t, "../docs/api.md", reference(decoded))
}

func isCommitted(t *testing.T, file, text string) {
	t.Helper()
	if *updateReference {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(have) != text {
		t.Errorf("%s is stale; run: go test ./api -run TestOpenAPI -update-reference", file)
	}
}

// documentWriter makes the OpenAPI document.
type documentWriter struct {
	t       *testing.T
	docs    map[string]string // "Type" and "Type.field" → doc comment
	schemas object
}

func newDocument(t *testing.T) object {
	d := &documentWriter{t: t, docs: wireDocs(t), schemas: object{}}
	paths := object{}
	for _, e := range endpoints() {
		if e.asset {
			continue
		}
		path, _ := paths[e.path].(object)
		if path == nil {
			path = object{}
		}
		path[strings.ToLower(e.method)] = d.operation(e)
		paths[e.path] = path
	}
	for _, data := range []any{wire.Event{}, wire.Reset{}, wire.Problem{}} {
		d.schema(reflect.TypeOf(data))
	}
	return object{
		"openapi": "3.1.0",
		"info": object{
			"title": "Doze control API", "version": "v1",
			"license": object{"name": "MPL-2.0", "identifier": "MPL-2.0"},
			"description": "Wakes Nomad job groups, puts them to sleep, and says why they " +
				"are awake. Every part of a path is percent-encoded on its own: a slash in " +
				"a job's ID is %2F. Durations are strings such as 1.5s; times are RFC 3339 " +
				"in UTC with milliseconds. Unknown query parameters are refused. Fields may " +
				"be added: ignore what you do not know.",
		},
		"paths": paths,
		"components": object{
			"schemas": d.schemas,
			"securitySchemes": object{
				"bearer": object{"type": "http", "scheme": "bearer",
					"description": "A token of doze's token file, or a Nomad token."},
				"nomad": object{"type": "apiKey", "in": "header", "name": "X-Nomad-Token",
					"description": "A Nomad token, where doze lets Nomad's ACLs decide: it " +
						"must itself be able to read, or to scale, the job."},
			},
		},
	}
}

func (d *documentWriter) operation(e endpoint) object {
	op := object{"operationId": e.id, "description": e.doc, "responses": d.responses(e)}
	if params := d.parameters(e); len(params) > 0 {
		op["parameters"] = params
	}
	if e.command {
		op["requestBody"] = object{"content": object{
			"application/json": object{"schema": d.schema(reflect.TypeFor[wire.Command]())}}}
	}
	op["security"] = []any{}
	if !e.open {
		op["security"] = []any{object{}, object{"bearer": []any{}}, object{"nomad": []any{}}}
	}
	return op
}

var pathVariable = regexp.MustCompile(`{(\w+)}`)

func (d *documentWriter) parameters(e endpoint) []any {
	params := []any{}
	for _, match := range pathVariable.FindAllStringSubmatch(e.path, -1) {
		params = append(params, object{"name": match[1], "in": "path", "required": true,
			"schema": object{"type": "string"}})
	}
	for _, p := range e.params {
		params = append(params, object{"name": p.name, "in": "query", "description": p.doc,
			"example": p.example, "schema": parameterSchema(p)})
	}
	if e.path == wire.EventsPath {
		params = append(params, object{"name": "Last-Event-ID", "in": "header",
			"description": "The last event that was read; left out: begin with what comes next.",
			"schema":      object{"type": "string"}})
	}
	return params
}

func parameterSchema(p parameter) object {
	switch p.kind {
	case durationKind:
		return object{"type": "string", "format": "duration",
			"description": "above zero, at most " + p.most.String()}
	case flagKind:
		return object{"type": "boolean"}
	case stateKind:
		return object{"type": "array", "items": object{"type": "string", "enum": wire.States()}}
	}
	return object{"type": "string"}
}

func (d *documentWriter) responses(e endpoint) object {
	responses := object{}
	for _, a := range e.answers {
		mediaType := a.mediaType
		if mediaType == "" {
			mediaType = "application/json"
		}
		content := object{}
		if a.body != nil {
			content["schema"] = d.schema(reflect.TypeOf(a.body))
		}
		responses[strconv.Itoa(a.status)] = object{"description": a.doc,
			"content": object{mediaType: content}}
	}
	responses["default"] = object{"description": "A problem (RFC 9457).",
		"content": object{problemType: object{"schema": d.schema(reflect.TypeFor[wire.Problem]())}}}
	return responses
}

// schema returns a reference to the named type's schema, or a schema itself.
func (d *documentWriter) schema(t reflect.Type) object {
	switch {
	case t == reflect.TypeFor[wire.Time]():
		return object{"type": "string", "format": "date-time"}
	case t == reflect.TypeFor[wire.Duration]():
		return object{"type": "string", "format": "duration"}
	case t == reflect.TypeFor[wire.State]():
		return object{"type": "string", "enum": wire.States()}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.schema(t.Elem())
	case reflect.Slice:
		return object{"type": "array", "items": d.schema(t.Elem())}
	case reflect.String:
		return object{"type": "string"}
	case reflect.Bool:
		return object{"type": "boolean"}
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return object{"type": "integer"}
	case reflect.Struct:
		return d.structSchema(t)
	}
	d.t.Fatalf("no schema for %s", t)
	return nil
}

func (d *documentWriter) structSchema(t reflect.Type) object {
	ref := object{"$ref": "#/components/schemas/" + t.Name()}
	if d.schemas[t.Name()] != nil {
		return ref
	}
	s := object{"type": "object", "description": d.docs[t.Name()]}
	d.schemas[t.Name()] = s
	properties, required := object{}, []string{}
	d.fields(t, properties, &required)
	s["properties"], s["required"] = properties, required
	return ref
}

// fields adds the fields of t, those of embedded structs as its own.
func (d *documentWriter) fields(t reflect.Type, properties object, required *[]string) {
	for f := range t.Fields() {
		name, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.Anonymous && name == "" {
			d.fields(f.Type, properties, required)
			continue
		}
		doc := d.docs[t.Name()+"."+f.Name]
		if doc == "" {
			d.t.Errorf("wire.%s.%s has no doc comment", t.Name(), f.Name)
		}
		s := d.schema(f.Type)
		s["description"] = doc
		properties[name] = s
		if !strings.Contains(options, "omit") {
			*required = append(*required, name)
		}
	}
}

// TestOpenAPI_document_hasEveryRouteAndNoOther walks the router, not the table.
func TestOpenAPI_document_hasEveryRouteAndNoOther(t *testing.T) {
	var doc struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(openAPIDocument, &doc); err != nil {
		t.Fatal(err)
	}
	documented := map[string]bool{}
	for path, methods := range doc.Paths {
		for method := range methods {
			documented[strings.ToUpper(method)+" "+path] = true
		}
	}
	for _, route := range routedBy(t) {
		if !documented[route] {
			t.Errorf("%s is routed and not documented", route)
		}
		delete(documented, route)
	}
	delete(documented, "GET "+wire.LivePath)
	delete(documented, "GET "+wire.ReadyPath)
	if len(documented) > 0 {
		t.Errorf("documented and not routed: %v", fmt.Sprint(documented))
	}
}
