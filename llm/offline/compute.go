package offline

import (
	"errors"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"strings"
)

// compute works out sums exactly. It needs no tool, and says what it worked out.
func compute(expression string) step {
	return func(*plan) (string, bool) {
		v, err := evaluate(signs.Replace(strings.ToLower(expression)))
		if err != nil {
			return fmt.Sprintf("I could not work out %s: %v.", expression, err), true
		}
		return fmt.Sprintf("%s = %s", strings.TrimSpace(expression), v), true
	}
}

// signs are other ways to write the operators.
var signs = strings.NewReplacer("×", "*", "x", "*", "times", "*", "÷", "/", "divided", "/", "by", "", "plus", "+", "minus", "-")

// evaluate uses Go's own exact constants; only numbers and + - * / ( ) are let in.
func evaluate(expression string) (string, error) {
	if len(expression) > 1000 {
		return "", errors.New("it is too long")
	}
	tree, err := parser.ParseExpr(expression)
	if err != nil {
		return "", errors.New("it is no sum that I know")
	}
	v, err := value(tree)
	if err != nil {
		return "", err
	}
	if i := constant.ToInt(v); i.Kind() == constant.Int {
		return i.ExactString(), nil
	}
	return v.String(), nil
}

func value(e ast.Expr) (constant.Value, error) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind == token.INT || e.Kind == token.FLOAT {
			decimal := strings.TrimLeft(e.Value, "0") // 010 is ten here
			if decimal == "" || decimal[0] == '.' {
				decimal = "0" + decimal
			}
			return constant.ToFloat(constant.MakeFromLiteral(decimal, token.FLOAT, 0)), nil
		}
	case *ast.ParenExpr:
		return value(e.X)
	case *ast.UnaryExpr:
		x, err := value(e.X)
		if err != nil || e.Op != token.SUB && e.Op != token.ADD {
			break
		}
		return constant.UnaryOp(e.Op, x, 0), nil
	case *ast.BinaryExpr:
		return binary(e)
	}
	return nil, errors.New("it is no sum that I know")
}

func binary(e *ast.BinaryExpr) (constant.Value, error) {
	x, err := value(e.X)
	if err != nil {
		return nil, err
	}
	y, err := value(e.Y)
	if err != nil {
		return nil, err
	}
	switch e.Op {
	case token.ADD, token.SUB, token.MUL:
	case token.QUO:
		if constant.Sign(y) == 0 {
			return nil, errors.New("it divides by zero")
		}
	default:
		return nil, errors.New("it is no sum that I know")
	}
	return constant.BinaryOp(x, e.Op, y), nil
}
