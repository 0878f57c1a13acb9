"""CladTorch::Compile in Python: PyROOT passes no functions of tensors, so the interpreter compiles the function by its name."""

import re

FACTORIES = {}  # functions that were compiled, by name


def cpp_name(function):
    """The name of a C++ function, with its namespaces; None for anything else."""
    signature = (getattr(function, "__doc__", None) or "") if hasattr(function, "func_overloads_names") else ""
    name = re.search(r"([\w:]+)\(", signature)
    return name and name[1]


def factory_of(name):
    """The C++ function that compiles the function of that name."""
    import ROOT

    if name not in FACTORIES:
        factory = f"Compile{len(FACTORIES)}"
        arguments = "const std::vector<torch::Tensor> &examples, const CompileOptions &options"
        body = f"{{ return Compile(::{name}, examples, options); }}"
        if not ROOT.gInterpreter.Declare(f"namespace CladTorch {{ namespace Python {{ Compiled {factory}({arguments}) {body} }} }}"):
            raise TypeError(f"CladTorch::Compile does not take {name}: the compiler says above why. One of several functions of that name, or a "
                            "template, goes into a function of its own")
        FACTORIES[name] = getattr(ROOT.CladTorch.Python, factory)
        FACTORIES[name].__release_gil__ = True  # it differentiates
    return FACTORIES[name]


def compile_function(function, examples, options=None, **fields):
    """Observes a C++ function of tensors and compiles it, with gradients: Compile(ROOT.f, [x, w], fDynamicBatch=True)."""
    import ROOT

    name = cpp_name(function)
    if not name:
        raise TypeError("Compile(function, examples) takes a C++ function: give its text, with #include <CladTorch/Torch.hxx>, to "
                        "ROOT.gInterpreter.Declare, and pass ROOT.its_name. For a lambda or a module declare a function that returns a "
                        "CladTorch::Compiled")
    wrong = [each for each in examples if not is_a(each, "at::Tensor")] if isinstance(examples, (list, tuple)) else [examples]
    if wrong and not getattr(type(wrong[0]), "__cpp_name__", "").startswith("std::vector<"):
        raise TypeError(f"Compile(function, examples) takes a list of LibTorch's tensors, as [ROOT.torch.ones([8, 4])], not {named(wrong[0])}")
    if options is not None and fields:
        raise TypeError("Compile() takes options or their fields, not both")
    return run(factory_of(name), examples, options if options is not None else ROOT.CladTorch.CompileOptions(**fields))
