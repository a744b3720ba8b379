// Package base says what every Nomad plugin is asked, whatever it is a plugin
// for: who it is, and which configuration it takes.
//
// It decides the constants of the handshake. It never starts, serves or keeps
// anything.
package base

// The handshake of Nomad's plugins, the same since Nomad 0.9. The cookie is no
// secret: it tells a plugin that an agent has started it.
const (
	ProtocolVersion = 2
	CookieKey       = "NOMAD_PLUGIN_MAGIC_COOKIE"
	CookieValue     = "e4327c2e01eabfd75a8a67adb114fb34a757d57eee7728d857a8cec6e91a7255"
)

// APIVersion is the version of Nomad's plugin API, the only one there is.
const APIVersion = "v0.1.0"
