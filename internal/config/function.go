package config

import (
	"bytes"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
)

// maxMade bounds what all functions of a file make together, in bytes.
const maxMade = 1 << 20

// maxDecoded bounds the text that jsondecode takes, and decodedWeight is how
// much a byte of it counts as made: a list out of it costs more than text.
const (
	maxDecoded       = 8 << 10
	maxDecodedCommas = 1_000
	decodedWeight    = 64
)

// callError is an error of a function of ours. Its text has no value of the
// environment or of a file in it, so that it may always be shown.
type callError struct{ wrong, right string }

func (e *callError) Error() string { return e.wrong }

// functions are what an expression of the file may call.
func (d *decoder) functions() map[string]function.Function {
	return map[string]function.Function{
		"env":        d.envFunction(),
		"file":       d.fileFunction(),
		"jsonencode": d.bounded(stdlib.JSONEncodeFunc, nil),
		"jsondecode": d.bounded(stdlib.JSONDecodeFunc, d.checkDecode),
		"format":     d.bounded(stdlib.FormatFunc, checkFormat),
		"join":       d.bounded(stdlib.JoinFunc, checkJoin),
		"lower":      d.bounded(stdlib.LowerFunc, nil),
		"upper":      d.bounded(stdlib.UpperFunc, nil),
		"coalesce":   d.bounded(stdlib.CoalesceFunc, nil),
		"min":        d.bounded(stdlib.MinFunc, nil),
		"max":        d.bounded(stdlib.MaxFunc, nil),
	}
}

// envFunction is env("NAME") and env("NAME", "default"). The default
// serves only where NAME is unset: set but empty stays empty.
func (d *decoder) envFunction() function.Function {
	return function.New(&function.Spec{
		Params:   []function.Parameter{{Name: "name", Type: cty.String}},
		VarParam: &function.Parameter{Name: "default", Type: cty.String},
		Type:     function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			name := args[0].AsString()
			value, set := d.l.lookup(name)
			name = d.written(name)
			switch {
			case len(args) > 2:
				return cty.NilVal, &callError{"env takes a name and at most one default", `env("TZ", "UTC")`}
			case !set && (name == "" || strings.ContainsAny(name, "=\x00")):
				return cty.NilVal, &callError{quote(name) + " is no name of a variable", `env("TZ")`}
			case !set && len(args) == 2:
				return args[1], nil
			case !set:
				return cty.NilVal, &callError{"the variable " + name + " is not set, and there is no default", fmt.Sprintf("env(%q, \"default\")", name)}
			}
			return d.outside("the variable", value)
		},
	})
}

// fileFunction is file("PATH"): the text of a file without its final line
// break, which an editor has put there. PATH is relative to graced's working folder,
// as every path is.
func (d *decoder) fileFunction() function.Function {
	return function.New(&function.Spec{
		Params: []function.Parameter{{Name: "path", Type: cty.String}},
		Type:   function.StaticReturnType(cty.String),
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			path := args[0].AsString()
			if strings.IndexByte(path, 0) >= 0 {
				return cty.NilVal, &callError{wrong: "the path has a zero byte"}
			}
			if err := d.made(0); err != nil {
				return cty.NilVal, err
			}
			data, err := d.l.in.ReadFile(path)
			if err != nil {
				return cty.NilVal, &callError{wrong: quote(d.written(path)) + " cannot be read: " + brief(err)}
			}
			text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
			return d.outside("the file", text)
		},
	})
}

// written is a name that a function was given, if it stands in the file. One
// that was put together of what env or file gave may be a secret itself.
func (d *decoder) written(name string) string {
	if d.touched && !bytes.Contains(d.text.file.Bytes, []byte(strconv.Quote(name))) {
		return "…"
	}
	return name
}

// outside takes in a text from outside of the configuration: from here on,
// the value of the attribute under way is not shown.
func (d *decoder) outside(what, text string) (cty.Value, error) {
	d.touched = true
	if !utf8.ValidString(text) {
		return cty.NilVal, &callError{wrong: what + " is not UTF-8 text"}
	}
	if err := d.made(len(text)); err != nil {
		return cty.NilVal, err
	}
	return cty.StringVal(text), nil
}

// made counts the bytes that functions have made.
func (d *decoder) made(n int) error {
	if d.size += n; d.size > maxMade {
		return &callError{wrong: "functions make more than 1 MiB of text in this file"}
	}
	return nil
}

// bounded is a function whose arguments are checked and whose results count.
func (d *decoder) bounded(f function.Function, check func(args []cty.Value) error) function.Function {
	return function.New(&function.Spec{
		Params:   f.Params(),
		VarParam: f.VarParam(),
		Type: func(args []cty.Value) (cty.Type, error) {
			for _, arg := range args {
				if !arg.IsWhollyKnown() {
					return cty.DynamicPseudoType, nil
				}
			}
			if check != nil {
				if err := check(args); err != nil {
					return cty.NilType, err
				}
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			v, err := f.Call(args)
			if err != nil {
				return v, err
			}
			if v.IsKnown() && !v.IsNull() && v.Type() == cty.Number && vast(v.AsBigFloat()) {
				return cty.NilVal, &callError{wrong: "the number has too many digits"}
			}
			if v.IsKnown() && !v.IsNull() && v.Type() == cty.String {
				err = d.made(len(v.AsString()))
			}
			return v, err
		},
	})
}

// vast says whether a number would be written with very many digits.
func vast(f *big.Float) bool {
	const bits = 64
	exponent := f.MantExp(nil)
	return f.IsInf() || exponent > bits || exponent < -bits
}

// checkDecode bounds what jsondecode is given, as a JSON configuration is.
func (d *decoder) checkDecode(args []cty.Value) error {
	if args[0].IsNull() {
		return nil
	}
	text := args[0].AsString()
	if len(text) > maxDecoded || strings.Count(text, ",") > maxDecodedCommas {
		return &callError{wrong: "the JSON has more than 8 KiB or more than 1000 commas"}
	}
	if o := checkJSON([]byte(text), ""); o != nil {
		return &callError{wrong: "the JSON has brackets or numbers that are not for this file"}
	}
	return d.made(len(text) * decodedWeight)
}

// checkJoin refuses a list and a separator that would grow beyond bounds.
func checkJoin(args []cty.Value) error {
	n := 0
	for _, list := range args[1:] {
		if !list.IsNull() && list.CanIterateElements() {
			n += list.LengthInt()
		}
	}
	if !args[0].IsNull() && len(args[0].AsString())*n > maxMade {
		return &callError{wrong: "the text would have more than 1 MiB"}
	}
	return nil
}

// checkFormat refuses widths such as %999999999d, and numbers in strings that
// %d would write out with all their zeros.
func checkFormat(args []cty.Value) error {
	if args[0].IsNull() {
		return nil
	}
	digits := 0
	for _, c := range []byte(args[0].AsString()) {
		if digits++; c < '0' || c > '9' {
			digits = 0
		}
		if digits > 3 {
			return &callError{wrong: "a number in a format has at most three digits"}
		}
	}
	for _, arg := range args[1:] {
		if arg.Type() == cty.String && !arg.IsNull() && strings.Trim(arg.AsString(), "0123456789.eEpP+-") == "" && strings.ContainsAny(arg.AsString(), "eEpP") {
			return &callError{wrong: "a number in a format has no exponent"}
		}
	}
	return nil
}

// asCallError finds a callError in an error of the evaluation.
func asCallError(err error) *callError {
	var c *callError
	errors.As(err, &c)
	return c
}
