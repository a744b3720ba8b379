package jobs

import "fmt"

// maxFile is the size in bytes, and maxDepth the nesting, above which a job file is not
// read: the HCL parser calls itself for every level. Nomad itself keeps job sources of up
// to 1 MB (job_max_source_size).
const (
	maxFile  = 1 << 20
	maxDepth = 10_000
)

// tooMuch says why a file is not read, "" where it is.
func tooMuch(src []byte) string {
	if len(src) > maxFile {
		return fmt.Sprintf("the file is larger than %d bytes", maxFile)
	}
	if nesting(src) > maxDepth {
		return fmt.Sprintf("the file nests more than %d levels deep", maxDepth)
	}
	return ""
}

// nesting is the most levels of brackets and signs that a parser may see in src. It does
// not know strings and comments, so it may be too high, never too low.
func nesting(src []byte) int {
	depth, signs, most := 0, 0, 0
	for _, b := range src {
		switch b {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth = max(0, depth-1)
		case '!', '-':
			signs++
		case ' ', '\t', '\r', '\n':
		default:
			signs = 0
		}
		most = max(most, depth+signs)
	}
	return most
}
