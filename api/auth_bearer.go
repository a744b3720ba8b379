package api

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"

	"doze/idle"
)

const (
	minTokenLength = 16      // bytes; shorter ones can be guessed
	maxTokenFile   = 1 << 16 // bytes
)

// Bearer lets everybody do everything who sends a token of a file as
// “Authorization: Bearer <token>” (RFC 6750, section 2.1). The file holds one token a line,
// so that a new one can be added before the old one is taken out; empty lines and lines that
// begin with # do not count. It is read again for every request: a change holds at once, and
// a file that has become unreadable lets nobody in.
type Bearer struct{ path string }

// NewBearer returns the authorizer for a token file. It is an error if the file cannot be
// read, can be read or written by every user of the machine, holds no token, or holds one
// that is shorter than 16 bytes or has a space in it.
func NewBearer(path string) (*Bearer, error) {
	b := &Bearer{path: path}
	if _, err := b.tokens(); err != nil {
		return nil, err
	}
	return b, nil
}

// Authorize compares in constant time.
func (b *Bearer) Authorize(_ context.Context, r *http.Request, _ Verb, _ idle.GroupID) error {
	given, ok := bearerToken(r)
	if !ok {
		return fmt.Errorf("%w: the request has no bearer token", ErrUnauthenticated)
	}
	tokens, err := b.tokens()
	if err != nil {
		return err
	}
	if !isAmong(given, tokens) {
		return fmt.Errorf("%w: the bearer token is not one that doze knows",
			ErrUnauthenticated)
	}
	return nil
}

// bearerToken returns the token of the Authorization header; the scheme's case does not
// matter (RFC 9110, section 11.1).
func bearerToken(r *http.Request) (string, bool) {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	token = strings.TrimSpace(token)
	return token, strings.EqualFold(scheme, "Bearer") && token != ""
}

// isAmong compares digests, so that neither content nor length shows in the time it takes,
// and always compares with all of them.
func isAmong(given string, tokens []string) bool {
	want := sha256.Sum256([]byte(given))
	found := 0
	for _, token := range tokens {
		have := sha256.Sum256([]byte(token))
		found |= subtle.ConstantTimeCompare(want[:], have[:])
	}
	return found == 1
}

// tokens reads the file.
func (b *Bearer) tokens() (tokens []string, err error) {
	text, err := readPrivate(b.path)
	if err != nil {
		return nil, fmt.Errorf("cannot read token file %q: %w", b.path, err)
	}
	for i, line := range strings.Split(string(text), "\n") {
		token := strings.TrimSpace(line)
		if token == "" || strings.HasPrefix(token, "#") {
			continue
		}
		if err := checkToken(token); err != nil {
			return nil, fmt.Errorf("cannot use token file %q: line %d: %w", b.path, i+1, err)
		}
		tokens = append(tokens, token)
	}
	if len(tokens) == 0 {
		return nil, fmt.Errorf("cannot use token file %q: there is no token in it; "+
			"write one, e.g. with: openssl rand -hex 32", b.path)
	}
	return tokens, nil
}

func checkToken(token string) error {
	if len(token) < minTokenLength {
		return fmt.Errorf("the token has %d bytes and can be guessed; at least %d are needed",
			len(token), minTokenLength)
	}
	if strings.ContainsAny(token, " \t") {
		return errors.New("the token has a space in it; write one token a line")
	}
	return nil
}

// readPrivate reads a file that others on the machine can neither read nor write.
func readPrivate(path string) (text []byte, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file")
	}
	if info.Mode().Perm()&0o006 != 0 {
		return nil, fmt.Errorf("every user of this machine can read or write it (mode %04o); "+
			"do: chmod 600 %s", info.Mode().Perm(), path)
	}
	text, err = io.ReadAll(io.LimitReader(f, maxTokenFile+1))
	if err == nil && len(text) > maxTokenFile {
		err = fmt.Errorf("it is larger than %d bytes", maxTokenFile)
	}
	return text, err
}
