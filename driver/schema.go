package driver

import "doze/plugins/hclspec"

// taskSchema is the shape of a task's config block. What is left out is told from what is
// empty, so nothing has its default here.
func taskSchema() hclspec.Spec {
	text, list := hclspec.Attr{Type: "string"}, hclspec.Attr{Type: "list(string)"}
	return hclspec.Object{
		"command":      hclspec.Attr{Type: "string", Required: true},
		"args":         list,
		"listen":       text,
		"activation":   text,
		"port_env":     text,
		"freeze_after": text,
		"park_after":   text,
		"start":        text,
		"wake_timeout": text,
		"shield":       list,
		"park_signal":  text,
		"park_timeout": text,
		"pids_limit":   hclspec.Attr{Type: "number"},
		"logs":         hclspec.Block{Nested: logsSchema()},
		"probe":        hclspec.BlockMap{Labels: []string{"kind"}, Nested: probeSchema()},
	}
}

// probeSchema has the keys of every kind of probe: HCL knows one shape for all labels.
func probeSchema() hclspec.Spec {
	text, number := hclspec.Attr{Type: "string"}, hclspec.Attr{Type: "number"}
	return hclspec.Object{
		"path": text, "method": text, "host": text, "statuses": text, "body": text,
		"headers":  hclspec.BlockAttrs{Type: "string"},
		"tls":      hclspec.Attr{Type: "bool"},
		"service":  text,
		"command":  hclspec.Attr{Type: "list(string)"},
		"interval": text, "timeout": text, "initial_delay": text,
		"rise": number, "fall": number,
	}
}

// logsSchema has the words of the logs block that Nomad knows in a task, for a task's config
// and the agent's.
func logsSchema() hclspec.Spec {
	number := hclspec.Attr{Type: "number"}
	return hclspec.Object{"max_files": number, "max_file_size": number}
}

// agentSchema is the shape of the config block of the agent's plugin block.
func agentSchema() hclspec.Spec {
	return hclspec.Object{
		"enabled": hclspec.Default{
			Primary: hclspec.Attr{Type: "bool"}, Fallback: hclspec.Bool(true)},
		"state_dir":  hclspec.Attr{Type: "string"},
		"user":       hclspec.Attr{Type: "string"},
		"allow_root": hclspec.Attr{Type: "bool"},
		"logs":       hclspec.Block{Nested: logsSchema()},
	}
}
