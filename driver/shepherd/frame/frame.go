// Package frame carries calls over a Unix socket: one connection a call, length-prefixed
// frames, JSON for messages and plain bytes for streams. It decides who may call (the same
// user or root) and bounds what it reads.
//
// It knows nothing of tasks, never multiplexes calls over a connection, and never answers
// a call twice.
package frame

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Kind says what a frame holds.
type Kind byte

const (
	Message Kind = 'm' // JSON: a request, its answer, or a message in between
	Stdin   Kind = 'i' // bytes; none: the end
	Stdout  Kind = 'o'
	Stderr  Kind = 'e'
)

// MaxSize bounds a frame's content in bytes.
const MaxSize = 1 << 20

// ErrTooLarge: a frame announces, or would hold, more than MaxSize bytes.
var ErrTooLarge = errors.New("the frame is too large")

// Frame is one unit on the wire: four bytes of length (of the content, big endian), one of
// kind, and the content.
type Frame struct {
	Kind    Kind
	Content []byte
}

const headSize = 5

// Read reads one frame. io.EOF means that there is none; any other error that the stream
// can't be read further.
func Read(r io.Reader) (Frame, error) {
	var head [headSize]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return Frame{}, err
	}
	size := binary.BigEndian.Uint32(head[:])
	kind := Kind(head[4])
	switch {
	case size > MaxSize:
		return Frame{}, fmt.Errorf("cannot read frame of %d bytes: %w", size, ErrTooLarge)
	case kind != Message && kind != Stdin && kind != Stdout && kind != Stderr:
		return Frame{}, fmt.Errorf("cannot read frame of kind %q", byte(kind))
	}
	content := make([]byte, size)
	if _, err := io.ReadFull(r, content); err != nil {
		return Frame{}, fmt.Errorf("cannot read frame: %w", noEOF(err))
	}
	return Frame{Kind: kind, Content: content}, nil
}

// noEOF keeps io.EOF for the end between two frames.
func noEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Write writes one frame with a single call of w.Write.
func Write(w io.Writer, f Frame) error {
	if len(f.Content) > MaxSize {
		return fmt.Errorf("cannot write frame of %d bytes: %w", len(f.Content), ErrTooLarge)
	}
	out := make([]byte, headSize, headSize+len(f.Content))
	binary.BigEndian.PutUint32(out, uint32(len(f.Content)))
	out[4] = byte(f.Kind)
	_, err := w.Write(append(out, f.Content...))
	return err
}

// WriteMessage writes v as a Message frame.
func WriteMessage(w io.Writer, v any) error {
	content, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("cannot encode message: %w", err)
	}
	return Write(w, Frame{Kind: Message, Content: content})
}

// ReadMessage reads one frame, which must be a Message, into v.
func ReadMessage(r io.Reader, v any) error {
	f, err := Read(r)
	if err != nil {
		return err
	}
	return f.Decode(v)
}

// Decode reads a Message frame's content into v.
func (f Frame) Decode(v any) error {
	if f.Kind != Message {
		return fmt.Errorf("cannot decode frame of kind %q as a message", byte(f.Kind))
	}
	if err := json.Unmarshal(f.Content, v); err != nil {
		return fmt.Errorf("cannot decode message: %w", err)
	}
	return nil
}
