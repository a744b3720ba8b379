package healthgate

import (
	"encoding/binary"
	"errors"
)

// The messages of grpc.health.v1 have one field each: the request a string, the answer an
// enum, both numbered 1. So this is all of protobuf's encoding and gRPC's framing (one byte
// for compression, four for the length) that a probe needs.

const frameHead = 5

// Wire types of https://protobuf.dev/programming-guides/encoding/.
const (
	wireVarint  = 0
	wireFixed64 = 1
	wireBytes   = 2
	wireFixed32 = 5
)

var errMalformed = errors.New("malformed message")

// healthRequest returns the framed HealthCheckRequest for service.
func healthRequest(service string) []byte {
	var message []byte
	if service != "" {
		message = binary.AppendUvarint([]byte{1<<3 | wireBytes}, uint64(len(service)))
		message = append(message, service...)
	}
	frame := binary.BigEndian.AppendUint32([]byte{0}, uint32(len(message)))
	return append(frame, message...)
}

// parseHealthAnswer returns the status in a framed HealthCheckResponse. A status that is
// left out is 0, UNKNOWN; the last of several counts.
func parseHealthAnswer(frame []byte) (servingStatus, error) {
	if len(frame) < frameHead {
		return 0, errors.New("truncated frame")
	}
	if frame[0] != 0 {
		return 0, errors.New("compressed, which was not offered")
	}
	message := frame[frameHead:]
	if uint64(binary.BigEndian.Uint32(frame[1:])) != uint64(len(message)) {
		return 0, errors.New("the frame's length is wrong")
	}
	return parseHealthMessage(message)
}

func parseHealthMessage(b []byte) (servingStatus, error) {
	var status servingStatus
	for len(b) > 0 {
		tag, n := binary.Uvarint(b)
		if n <= 0 || tag>>3 == 0 {
			return 0, errMalformed
		}
		b = b[n:]
		value, size := fieldValue(b, tag&7)
		if size < 0 {
			return 0, errMalformed
		}
		if tag == 1<<3|wireVarint {
			status = servingStatus(value)
		}
		b = b[size:]
	}
	return status, nil
}

// fieldValue returns the value of a varint and the size of any field at b's start; a size
// below 0: malformed.
func fieldValue(b []byte, wireType uint64) (value uint64, size int) {
	switch wireType {
	case wireVarint:
		value, size = binary.Uvarint(b)
		if size == 0 {
			size = -1
		}
		return value, size
	case wireFixed64:
		size = 8
	case wireFixed32:
		size = 4
	case wireBytes:
		length, n := binary.Uvarint(b)
		if n <= 0 || length > uint64(len(b)-n) {
			return 0, -1
		}
		size = n + int(length)
	default:
		return 0, -1
	}
	if size > len(b) {
		return 0, -1
	}
	return 0, size
}
