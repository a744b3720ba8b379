// Package layout holds the test that keeps the import rules of the design. It has no code.
package layout
