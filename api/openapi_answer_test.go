package api_test

import (
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// answerSchema checks answers against the OpenAPI document that the API itself serves. It is
// stricter than the document: a field that the document does not have is an error.
type answerSchema struct {
	Paths      map[string]map[string]documentedOperation
	Components struct {
		Schemas map[string]answerShape
	}
}

type documentedOperation struct {
	Responses map[string]struct {
		Content map[string]struct{ Schema *answerShape }
	}
}

type answerShape struct {
	Ref        string `json:"$ref"`
	Type       string
	Format     string
	Enum       []string
	Items      *answerShape
	Properties map[string]answerShape
	Required   []string
}

func readAnswerSchema(t *testing.T, w *controlWorld) *answerSchema {
	t.Helper()
	s := into[answerSchema](t, w.do("GET", "/v1/openapi.json", ""), 200)
	return &s
}

// check fails the test unless the answer is one that the document describes. Problems that
// come before the routing (host, origin, unknown path) need only be problems.
func (s *answerSchema) check(t *testing.T, r *http.Request, a controlAnswer) {
	t.Helper()
	mediaType, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil && a.text != "" {
		t.Errorf("%s %s: Content-Type: %v", r.Method, r.URL, err)
	}
	if mediaType == "application/problem+json" {
		s.checkText(t, answerShape{Ref: "#/components/schemas/Problem"}, a.text)
		var p struct{ Status int }
		if json.Unmarshal([]byte(a.text), &p); p.Status != a.status {
			t.Errorf("the problem says %d, the answer %d", p.Status, a.status)
		}
	}
	op, ok := s.operation(r)
	if !ok {
		return
	}
	response, ok := op.Responses[strconv.Itoa(a.status)]
	if !ok {
		response = op.Responses["default"]
	}
	content, ok := response.Content[mediaType]
	if !ok && r.Method != http.MethodHead {
		t.Errorf("%s %s: %d %q is not documented", r.Method, r.URL, a.status, mediaType)
	}
	if content.Schema != nil && a.text != "" {
		s.checkText(t, *content.Schema, a.text)
	}
}

func (s *answerSchema) operation(r *http.Request) (documentedOperation, bool) {
	for template, operations := range s.Paths {
		quoted := regexp.QuoteMeta(template)
		pattern := regexp.MustCompile(`\\{\w+\\}`).ReplaceAllString(quoted, "[^/]+")
		if regexp.MustCompile("^" + pattern + "$").MatchString(r.URL.EscapedPath()) {
			op, ok := operations[strings.ToLower(r.Method)]
			return op, ok
		}
	}
	return documentedOperation{}, false
}

func (s *answerSchema) checkText(t *testing.T, shape answerShape, text string) {
	t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Errorf("%v in %s", err, text)
		return
	}
	for _, wrong := range s.wrongIn(shape, "answer", value) {
		t.Errorf("%s\nin %s", wrong, text)
	}
}

// wrongIn lists where value is not of the shape.
func (s *answerSchema) wrongIn(shape answerShape, at string, value any) []string {
	if shape.Ref != "" {
		shape = s.Components.Schemas[shape.Ref[strings.LastIndex(shape.Ref, "/")+1:]]
	}
	switch v := value.(type) {
	case map[string]any:
		if shape.Type == "object" {
			return s.wrongInObject(shape, at, v)
		}
	case []any:
		if shape.Type == "array" {
			var wrong []string
			for i, item := range v {
				where := fmt.Sprintf("%s[%d]", at, i)
				wrong = append(wrong, s.wrongIn(*shape.Items, where, item)...)
			}
			return wrong
		}
	case string:
		if shape.Type == "string" {
			return wrongText(shape, at, v)
		}
	case bool:
		if shape.Type == "boolean" {
			return nil
		}
	case float64:
		if shape.Type == "integer" && v == float64(int64(v)) {
			return nil
		}
	}
	return []string{fmt.Sprintf("%s is %T, not %s", at, value, shape.Type)}
}

func (s *answerSchema) wrongInObject(shape answerShape, at string,
	value map[string]any) (wrong []string) {
	for _, name := range shape.Required {
		if _, there := value[name]; !there {
			wrong = append(wrong, fmt.Sprintf("%s.%s is missing", at, name))
		}
	}
	for name, field := range value {
		property, known := shape.Properties[name]
		if !known {
			wrong = append(wrong, fmt.Sprintf("%s.%s is not documented", at, name))
			continue
		}
		wrong = append(wrong, s.wrongIn(property, at+"."+name, field)...)
	}
	return wrong
}

func wrongText(shape answerShape, at, text string) []string {
	var err error
	switch shape.Format {
	case "date-time":
		_, err = time.Parse("2006-01-02T15:04:05.000Z", text)
	case "duration":
		_, err = time.ParseDuration(text)
	}
	if err != nil {
		return []string{fmt.Sprintf("%s: %v", at, err)}
	}
	if len(shape.Enum) > 0 && !slices.Contains(shape.Enum, text) {
		return []string{fmt.Sprintf("%s is %q, none of %v", at, text, shape.Enum)}
	}
	return nil
}
