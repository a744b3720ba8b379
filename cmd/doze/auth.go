package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"

	"doze/api"
	"doze/idle"
	"doze/jobs"
)

// authorizer is the kind that the configuration asks for.
func (s *stack) authorizer() (api.Authorizer, error) {
	switch s.cfg.auth() {
	case "token":
		bearer, err := api.NewBearer(s.cfg.APITokenFile)
		if err != nil {
			return nil, &usageError{err}
		}
		return bearer, nil
	case "nomad":
		return nomadAuth{jobs.NewAuthorizer(s.client)}, nil
	}
	return api.Open{}, nil
}

// nomadAuth lets Nomad's ACLs guard the API: the caller's own X-Nomad-Token must be able to
// read the job, or to scale it.
type nomadAuth struct{ nomad *jobs.Authorizer }

// Authorize implements api.Authorizer.
func (a nomadAuth) Authorize(ctx context.Context, r *http.Request, do api.Verb,
	id idle.GroupID) error {
	err := a.ask(ctx, r.Header.Get("X-Nomad-Token"), do, id)
	switch {
	case errors.Is(err, jobs.ErrToken):
		return fmt.Errorf("%w: %w; send a Nomad token in X-Nomad-Token", api.ErrUnauthenticated, err)
	case errors.Is(err, jobs.ErrForbidden):
		return fmt.Errorf("%w: %w", api.ErrForbidden, err)
	case errors.Is(err, jobs.ErrACLsOff):
		return fmt.Errorf("%w: %w", api.ErrNoGuard, err)
	}
	return err
}

// warnUnguarded says at the start, and not to the first caller only, that nobody can be let in.
// What else is wrong with Nomad then is the watcher's to tell.
func (a nomadAuth) warnUnguarded(ctx context.Context, log *slog.Logger) {
	if err := a.nomad.Check(ctx); errors.Is(err, jobs.ErrACLsOff) {
		log.Warn("nobody can use the API", "error", err)
	}
}

// ask asks whether the token may do that; the zero id, whether there is such a token.
func (a nomadAuth) ask(ctx context.Context, token string, do api.Verb, id idle.GroupID) error {
	switch {
	case id == idle.GroupID{}:
		return a.nomad.Known(ctx, token)
	case do == api.Write:
		return a.nomad.Scale(ctx, token, id)
	}
	return a.nomad.Read(ctx, token, id)
}
