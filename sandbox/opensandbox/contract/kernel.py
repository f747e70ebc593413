# Runs program texts one after another, each a line of JSON, and tells what happens in the
# same form.
import ast, json, sys, traceback
real, names = sys.stdout, {"__name__": "__main__"}

def tell(**what):
    real.write(json.dumps(what) + "\n")
    real.flush()

class Output:
    def __init__(self, kind):
        self.kind = kind
    def write(self, text):
        if text:
            tell(type=self.kind, text=text)
        return len(text)
    def flush(self):
        pass

sys.stdout, sys.stderr = Output("stdout"), Output("stderr")
for line in sys.stdin:
    try:
        tree = ast.parse(json.loads(line), "<cell>")
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, "<cell>", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)
            if value is not None:
                tell(type="result", text=repr(value))
        tell(type="done")
    except BaseException as error:
        tell(type="error", name=type(error).__name__, text=str(error), trace=traceback.format_exc().splitlines())
