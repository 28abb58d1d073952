package config

import (
	"strconv"

	"github.com/zclconf/go-cty/cty"
)

// describe says what kind of thing a value is, never what is in it.
func describe(v cty.Value) string {
	switch t := v.Type(); {
	case v.IsNull():
		return "null"
	case !v.IsKnown():
		return "unknown"
	case t == cty.String:
		return "text"
	case t == cty.Number:
		return "a number"
	case t == cty.Bool:
		return "a bool"
	case t.IsTupleType() || t.IsListType() || t.IsSetType():
		return "a list"
	default:
		return "a map"
	}
}

// plainText is a string, number or bool as text; "" for any other.
func plainText(v cty.Value) string {
	switch {
	case v.IsNull() || !v.IsKnown():
		return ""
	case v.Type() == cty.String:
		return v.AsString()
	case v.Type() == cty.Number:
		return numberText(v)
	case v.Type() == cty.Bool:
		return strconv.FormatBool(v.True())
	}
	return ""
}

// numberText writes a number, a very great or small one with an exponent.
func numberText(v cty.Value) string {
	f := v.AsBigFloat()
	if vast(f) {
		return f.Text('g', 6)
	}
	if f.IsInt() {
		return f.Text('f', 0)
	}
	return f.Text('g', -1)
}
