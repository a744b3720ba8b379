//go:build e2e

package e2e

import (
	"net/http"

	"github.com/gorilla/websocket"
)

// echoSocket answers each WebSocket message with itself.
func echoSocket(w http.ResponseWriter, r *http.Request) {
	conn, err := new(websocket.Upgrader).Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer conn.Close()
	for {
		kind, message, err := conn.ReadMessage()
		if err != nil {
			return
		}
		if conn.WriteMessage(kind, message) != nil {
			return
		}
	}
}
