package main

import (
	"context"
	"errors"
	"fmt"
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
	token := r.Header.Get("X-Nomad-Token")
	ask := a.nomad.Read
	if do == api.Write {
		ask = a.nomad.Scale
	}
	err := ask(ctx, token, id)
	switch {
	case errors.Is(err, jobs.ErrToken):
		return fmt.Errorf("%w: %w; send a Nomad token in X-Nomad-Token", api.ErrUnauthenticated, err)
	case errors.Is(err, jobs.ErrForbidden):
		return fmt.Errorf("%w: %w", api.ErrForbidden, err)
	}
	return err
}
