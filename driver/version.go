package driver

import (
	"regexp"
	"strings"

	"doze/plugins/base"
)

// noRelease is the version of what was built from no tag.
const noRelease = "0.0.0-dev"

// notInBuild are the characters that a version's build metadata may not have (semver.org, 10).
var notInBuild = regexp.MustCompile(`[^0-9A-Za-z-]+`)

// pluginVersion is a version that an agent can parse. What is none, as the name of a commit,
// becomes the build of no release, so that two builds can be told apart. A commit's name may
// consist of digits alone: what is a version has a dot.
func pluginVersion(version string) string {
	if strings.Contains(version, ".") &&
		(base.Info{Name: Name, Version: version}).Validate() == nil {
		return version
	}
	build := strings.Trim(notInBuild.ReplaceAllString(version, "-"), "-")
	if build == "" || build == "dev" {
		return noRelease
	}
	return noRelease + "+" + build
}
