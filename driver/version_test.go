package driver

import (
	"testing"

	"doze/plugins/base"
)

// Builds without a tag have to be told apart by what an agent shows of them.
func TestInfo_versionOfAnyBuild_isOneThatAgentsParseAndTheBuilds(t *testing.T) {
	for build, want := range map[string]string{
		"1.2.3":                   "1.2.3",
		"v1.2.0-rc.1":             "v1.2.0-rc.1",
		"v0.3.0-5-gfe6b112":       "v0.3.0-5-gfe6b112", // five commits after a tag
		"v0.3.0-5-gfe6b112-dirty": "v0.3.0-5-gfe6b112-dirty",
		"v0.0.0-20261130071308-97fb5ec0a1b2+dirty": "v0.0.0-20261130071308-97fb5ec0a1b2+dirty",
		"fe6b112":                "0.0.0-dev+fe6b112", // no tag
		"fe6b112-dirty":          "0.0.0-dev+fe6b112-dirty",
		"1234567":                "0.0.0-dev+1234567", // a commit, not release 1234567
		"1234567-dirty":          "0.0.0-dev+1234567-dirty",
		"release/1_b":            "0.0.0-dev+release-1-b",
		"1..2":                   "0.0.0-dev+1-2",
		"99999999999999999999.1": "0.0.0-dev+99999999999999999999-1",
		"1.0.0-.":                "0.0.0-dev+1-0-0",
		"(devel)":                "0.0.0-dev+devel",
		"dev":                    "0.0.0-dev", // without the linker's word
		"":                       "0.0.0-dev",
		"-":                      "0.0.0-dev",
	} {
		info := New(Config{Version: build}).Info()
		if info != (base.Info{Name: "doze", Version: want}) {
			t.Errorf("%q becomes %q, not %q", build, info.Version, want)
		}
		if err := info.Validate(); err != nil {
			t.Errorf("%q: %v", build, err)
		}
	}
}
