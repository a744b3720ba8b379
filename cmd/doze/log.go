package main

import (
	"context"
	"log/slog"

	"github.com/hashicorp/go-hclog"
)

// hclogHandler lets the packages, which know only log/slog, write through hclog, so that
// one process has one log in the format that Nomad's operators know.
type hclogHandler struct {
	logger hclog.Logger
	prefix string // of the open groups, with a trailing dot
}

// newLogger returns the log that a valid configuration asks for.
func newLogger(term terminal, cfg serveConfig) *slog.Logger {
	logger := hclog.New(&hclog.LoggerOptions{
		Name:       "doze",
		Level:      hclog.LevelFromString(cfg.LogLevel),
		Output:     term.stderr,
		JSONFormat: cfg.LogFormat == "json",
	})
	return slog.New(hclogHandler{logger: logger})
}

func (h hclogHandler) Enabled(_ context.Context, level slog.Level) bool {
	return h.logger.GetLevel() != hclog.Off && toHclog(level) >= h.logger.GetLevel()
}

func (h hclogHandler) Handle(_ context.Context, record slog.Record) error {
	pairs := make([]any, 0, 2*record.NumAttrs())
	record.Attrs(func(attr slog.Attr) bool {
		pairs = h.appendAttr(pairs, attr)
		return true
	})
	h.logger.Log(toHclog(record.Level), record.Message, pairs...)
	return nil
}

func (h hclogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var pairs []any
	for _, attr := range attrs {
		pairs = h.appendAttr(pairs, attr)
	}
	return hclogHandler{logger: h.logger.With(pairs...), prefix: h.prefix}
}

func (h hclogHandler) WithGroup(name string) slog.Handler {
	if name == "" {
		return h
	}
	return hclogHandler{logger: h.logger, prefix: h.prefix + name + "."}
}

func (h hclogHandler) appendAttr(pairs []any, attr slog.Attr) []any {
	value := attr.Value.Resolve()
	if value.Kind() == slog.KindGroup {
		inner := hclogHandler{logger: h.logger, prefix: h.prefix}
		if attr.Key != "" {
			inner.prefix += attr.Key + "."
		}
		for _, member := range value.Group() {
			pairs = inner.appendAttr(pairs, member)
		}
		return pairs
	}
	if attr.Equal(slog.Attr{}) {
		return pairs
	}
	return append(pairs, h.prefix+attr.Key, value.Any())
}

func toHclog(level slog.Level) hclog.Level {
	switch {
	case level < slog.LevelDebug:
		return hclog.Trace
	case level < slog.LevelInfo:
		return hclog.Debug
	case level < slog.LevelWarn:
		return hclog.Info
	case level < slog.LevelError:
		return hclog.Warn
	}
	return hclog.Error
}
