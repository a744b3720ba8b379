package hclspec

import (
	"fmt"
	"math"
	"math/big"
	"reflect"
)

func (a *assigner) scalar(v any, to reflect.Value, path string) {
	switch to.Kind() {
	case reflect.String:
		if s, ok := v.(string); ok {
			to.SetString(s)
			return
		}
		a.fail(path, "needs a string, not %s", kindOf(v))
	case reflect.Bool:
		if b, ok := v.(bool); ok {
			to.SetBool(b)
			return
		}
		a.fail(path, "needs a bool, not %s", kindOf(v))
	default:
		if err := setNumber(v, to); err != nil {
			a.fail(path, "%w", err)
		}
	}
}

func setNumber(v any, to reflect.Value) error {
	n, err := number(v)
	switch {
	case !to.CanInt() && !to.CanUint() && !to.CanFloat():
		return fmt.Errorf("a field cannot be a %s", to.Type())
	case err != nil:
		return err
	case to.CanFloat():
		f, _ := n.Float64() // the nearest there is
		if math.IsInf(f, 0) || to.OverflowFloat(f) {
			return fmt.Errorf("%s is out of range", n.Text('g', 10))
		}
		to.SetFloat(f)
		return nil
	case !n.IsInt():
		return fmt.Errorf("needs a whole number, not %s", n.Text('g', 10))
	case to.CanInt():
		i, exact := n.Int64()
		if exact != big.Exact || to.OverflowInt(i) {
			return fmt.Errorf("%s is out of range", n.Text('g', 20))
		}
		to.SetInt(i)
		return nil
	}
	u, exact := n.Uint64()
	if exact != big.Exact || to.OverflowUint(u) {
		return fmt.Errorf("%s is out of range", n.Text('g', 20))
	}
	to.SetUint(u)
	return nil
}

// number reads a number in whichever form Nomad has sent it. A string of more
// than 100 characters is no number that anybody wrote into a job.
func number(v any) (*big.Float, error) {
	n := new(big.Float).SetPrec(64)
	switch v := v.(type) {
	case int64:
		return n.SetInt64(v), nil
	case uint64:
		return n.SetUint64(v), nil
	case float64:
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("needs a finite number")
		}
		return n.SetFloat64(v), nil
	case string:
		if len(v) > 100 {
			return nil, fmt.Errorf("needs a number, not a string")
		}
		if _, _, err := n.Parse(v, 10); err != nil || n.IsInf() {
			return nil, fmt.Errorf("needs a number, not the string %q", v)
		}
		return n, nil
	default:
		return nil, fmt.Errorf("needs a number, not %s", kindOf(v))
	}
}
