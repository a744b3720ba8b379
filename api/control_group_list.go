package api

import (
	"bufio"
	"encoding/json"
	"io"
	"time"

	"doze/api/wire"
	"doze/idle"
)

// groupList is a wire.GroupList that is written one group at a time: a hundred thousand of
// them are never in memory at once.
type groupList struct {
	groups      []*idle.Group
	states      arguments // filters by state, as it is when the group is written
	diagnostics diagnosticIndex
	position    string
	now         time.Time
}

// write writes the list as wire.GroupList marshals. The answer has begun, so that an error,
// which can only be that the caller has gone, is nobody's to be told.
func (l groupList) write(to io.Writer) error {
	out := bufio.NewWriterSize(to, 32<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	separator := `{"groups":[`
	for _, g := range l.groups {
		status := g.Status()
		if !l.states.matchesState(wire.State(status.State.String())) {
			continue
		}
		_, _ = out.WriteString(separator) // a failed write fails all later ones and Flush
		if err := enc.Encode(viewGroup(status, l.diagnostics.of(status.ID), l.now)); err != nil {
			return nil
		}
		separator = ","
	}
	if separator != "," {
		_, _ = out.WriteString(separator)
	}
	_, _ = out.WriteString(`],"last_event_id":`)
	_ = enc.Encode(l.position)
	_, _ = out.WriteString("}\n")
	_ = out.Flush()
	return nil
}
