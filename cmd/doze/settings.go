package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclparse"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"doze/jobs"
)

// settings are a verb's flags. Each flag -some-name can also be given as the environment
// variable DOZE_SOME_NAME and, for a verb that reads a file, as the key some_name in
// doze.hcl. The flag wins over the variable, the variable over the file.
type settings struct {
	flags *flag.FlagSet
	env   func(string) (string, bool)
	// usageStatus is the exit status for mistakes in flags, for verbs whose statuses mean
	// something else; 0: exitUsage.
	usageStatus int
	// file is the path of the configuration file; nil: the verb reads none.
	file *string
}

func newSettings(name string, env func(string) (string, bool)) *settings {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	return &settings{flags: flags, env: env}
}

// readsFile declares -config.
func (s *settings) readsFile() {
	s.file = s.flags.String("config", "", "`path` of doze.hcl, a file with these settings")
}

// load parses the arguments, then takes what no flag gave from the environment and the
// file. It reports every problem at once. It returns what is left of the arguments.
func (s *settings) load(args []string) ([]string, error) {
	if err := s.flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		return nil, usagef("%w; `doze %s -help` lists the flags", err, s.flags.Name())
	}
	if err := flagsFirst(args, s.flags.Args()); err != nil {
		return nil, err
	}
	set := map[string]bool{}
	s.flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
	problems := s.loadEnv(set)
	if s.file != nil && *s.file != "" {
		problems = append(problems, s.loadFile(*s.file, set)...)
	}
	if len(problems) > 0 {
		return nil, &usageError{errors.Join(problems...)}
	}
	return s.flags.Args(), nil
}

// flagsFirst refuses a flag among the arguments, of which rest are left: it would be taken for
// one of them. After -- all are arguments.
func flagsFirst(args, rest []string) error {
	if before := len(args) - len(rest); before > 0 && args[before-1] == "--" {
		return nil
	}
	for i, arg := range rest {
		if len(arg) > 1 && arg[0] == '-' { // a dash alone is an argument, the first one too
			return usagef("%s comes after %q: flags come first, or write -- before arguments "+
				"that begin with a dash", arg, rest[i-1])
		}
	}
	return nil
}

func (s *settings) loadEnv(set map[string]bool) (problems []error) {
	s.flags.VisitAll(func(f *flag.Flag) {
		value, ok := s.env(envName(f.Name))
		if !ok || set[f.Name] {
			return
		}
		set[f.Name] = true
		if err := f.Value.Set(value); err != nil {
			problems = append(problems, fmt.Errorf("%s=%q: %w", envName(f.Name), value, err))
		}
	})
	return problems
}

func (s *settings) loadFile(path string, set map[string]bool) (problems []error) {
	source, err := os.ReadFile(path)
	if err != nil {
		return []error{fmt.Errorf("cannot read the configuration: %w", err)}
	}
	file, diags := hclparse.NewParser().ParseHCL(source, path)
	if diags.HasErrors() {
		return diags.Errs()
	}
	attributes, diags := file.Body.JustAttributes()
	problems = append(problems, diags.Errs()...)
	for _, attr := range sorted(attributes) {
		if err := s.setFromFile(attr, set); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", attr.Range, err))
		}
	}
	return problems
}

// sorted returns the attributes in the order of the file.
func sorted(attributes hcl.Attributes) []*hcl.Attribute {
	list := make([]*hcl.Attribute, 0, len(attributes))
	for _, attr := range attributes {
		list = append(list, attr)
	}
	slices.SortFunc(list, func(a, b *hcl.Attribute) int {
		return a.Range.Start.Byte - b.Range.Start.Byte
	})
	return list
}

func (s *settings) setFromFile(attr *hcl.Attribute, set map[string]bool) error {
	name := strings.ReplaceAll(attr.Name, "_", "-")
	known := s.flags.Lookup(name)
	if known == nil || name == "config" || strings.Contains(attr.Name, "-") {
		return fmt.Errorf("unknown key %q%s", attr.Name, s.instead(attr.Name))
	}
	value, diags := attr.Expr.Value(nil)
	if diags.HasErrors() {
		return errors.Join(diags.Errs()...)
	}
	text, err := settingText(value)
	if err != nil {
		return fmt.Errorf("%s: %w", attr.Name, err)
	}
	if set[name] {
		return nil // given by flag or variable
	}
	if err := known.Value.Set(text); err != nil {
		return fmt.Errorf("%s = %q: %w", attr.Name, text, err)
	}
	return nil
}

// settingText turns a value of doze.hcl into what the flag would have been given; a list
// becomes a comma-separated text.
func settingText(value cty.Value) (string, error) {
	if !value.IsWhollyKnown() || value.IsNull() {
		return "", errors.New("needs a value")
	}
	kind := value.Type()
	if kind.IsTupleType() || kind.IsListType() || kind.IsSetType() {
		var parts []string
		for _, element := range value.AsValueSlice() {
			part, err := settingText(element)
			if err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
		return strings.Join(parts, ","), nil
	}
	text, err := convert.Convert(value, cty.String)
	if err != nil {
		return "", fmt.Errorf("needs a string, number, bool or list, not %s", kind.FriendlyName())
	}
	return text.AsString(), nil
}

// instead says where a key belongs that is none of the file's, or which it may be meant for.
func (s *settings) instead(key string) string {
	if slices.Contains(jobs.PolicyKeys(), key) {
		return "; it is one of a group's policy: put it into the job, under scaling > policy > doze"
	}
	var names []string
	s.flags.VisitAll(func(f *flag.Flag) {
		if f.Name != "config" {
			names = append(names, strings.ReplaceAll(f.Name, "-", "_"))
		}
	})
	return didYouMean(key, names)
}

// didYouMean suggests the name that shares the most with an unknown one.
func didYouMean(unknown string, names []string) string {
	best, score := "", 0.0
	for _, name := range names {
		if likeness := likeness(unknown, name); likeness > score {
			best, score = name, likeness
		}
	}
	if score < 0.5 {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// likeness is the share of letter pairs that two words have in common, 0 to 1.
func likeness(a, b string) float64 {
	if len(a) < 2 || len(b) < 2 {
		return 0
	}
	pairs := map[string]int{}
	for i := range len(a) - 1 {
		pairs[a[i:i+2]]++
	}
	common := 0
	for i := range len(b) - 1 {
		if pairs[b[i:i+2]] > 0 {
			pairs[b[i:i+2]]--
			common++
		}
	}
	return 2 * float64(common) / float64(len(a)+len(b)-2)
}

func envName(name string) string {
	return "DOZE_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// describe lists the flags as the help shows them.
func (s *settings) describe() string {
	var b strings.Builder
	s.flags.VisitAll(func(f *flag.Flag) {
		kind, text := flag.UnquoteUsage(f)
		if kind != "" {
			kind = "=<" + kind + ">"
		}
		fmt.Fprintf(&b, "  -%s%s\n      %s", f.Name, kind, text)
		if f.DefValue != "" && f.DefValue != "false" {
			fmt.Fprintf(&b, " (default %s)", f.DefValue)
		}
		fmt.Fprintf(&b, " [%s]\n\n", envName(f.Name))
	})
	return b.String()
}
