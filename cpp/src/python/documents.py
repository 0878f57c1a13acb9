"""The text of help(): the comments of the headers, which are installed with the plugin, below the signatures."""

import os
import re
import types

DOCUMENTS = {}  # of each header that was read


def header_of(name):
    """The header that declares the class `name`, as "Dataset.hxx"."""
    import ROOT

    return os.path.basename(str(ROOT.TClass.GetClass(name).GetDeclFileName()))


def text_of(header):
    """"" if the interpreter finds no such header."""
    import ROOT

    for quoted, bare_path in re.findall(r'-I *(?:"([^"]+)"|(\S+))', str(ROOT.gInterpreter.GetIncludePath())):
        path = os.path.join(quoted or bare_path, "CladTorch", header)
        if os.path.isfile(path):
            with open(path, encoding="utf-8") as text:
                return text.read()
    return ""


def plain_text(lines):
    """A Doxygen comment without its markup."""
    text = "\n".join(lines)
    text = re.sub(r"^\\param (\[\w+\] )?(\w+(?:, \w+)*) ", r"\2: ", text, flags=re.M)
    text = re.sub(r"^\\return ", "returns ", text, flags=re.M)
    text = re.sub(r"^\\(brief|file) ", "", text, flags=re.M)
    code = False
    shown = []
    for line in text.split("\n"):
        if line.startswith("~~~"):
            code = not code
        else:
            shown.append("    " + line if code else line)
    return "\n".join(shown).strip()


def documents(header):
    """{"Dataset": text, "Dataset::Add": [text of each overload], "FitOptions::fSeed": ...} of a header."""
    found, scope, lines, declaration = {}, "", [], ""
    for line in header.split("\n"):
        stripped = line.strip()
        if stripped.startswith("///") and not declaration:
            lines.append(stripped[3:].removeprefix(" "))
            continue
        declared, _, behind = stripped.partition("///<")
        declaration = f"{declaration} {declared.partition('//')[0].strip()}".strip()
        entity = re.match(r"(?:template <.*> )?(?:class|struct|enum) (\w+)[^;(]*\{$", declaration)
        if entity and not line.startswith(" "):
            scope = entity[1]
            note(found, scope, lines)
            lines, declaration = [], ""
        elif not declaration or declaration[-1] in ";{}:," or behind:
            if not line.startswith("}"):
                pattern = r"(operator\(\)|\w+)\s*\(" if "(" in declaration else r"(\w+)(?: = ([^;,]*))?[;,]?$"
                member = re.search(pattern, declaration)
                if member:
                    name = f"{scope}::{member[1]}" if line.startswith(" ") else member[1]
                    note(found, name, lines or [behind.strip()])
                    if member[member.re.groups] and member.re.groups == 2:
                        found[f"{name} = "] = [member[2].strip()]
            elif scope:
                scope = ""
            lines, declaration = [], ""
    return found


def note(found, name, lines):
    text = plain_text(lines)
    if text and text not in found.setdefault(name, []):
        found[name].append(text)


def documents_of(header):
    if header not in DOCUMENTS:
        DOCUMENTS[header] = documents(text_of(header))
    return DOCUMENTS[header]


def with_meaning(function, texts):
    """Puts `texts` below the signatures in the documentation of a method."""
    function = getattr(function, "__func__", function)
    if texts and (isinstance(function, types.FunctionType) or type(function).__name__ in ("CPPOverload", "TemplateProxy")):
        function.__doc__ = "\n\n".join([function.__doc__ or "", *texts]).strip()


def document(cls, name):
    """Gives the class and its methods their header's comments."""
    kind = plain(name)
    texts = documents_of(header_of(name))
    listed = []
    for field in fields(cls):
        default = texts.get(f"{kind}::{field} = ", [""])[0]
        text = " ".join(" ".join(texts.get(f"{kind}::{field}", [])).split())
        listed.append(f"{field}{f' = {default}' * bool(default)}{f': {text}' * bool(text)}")
    cls.__doc__ = "\n\n".join([*texts.get(kind, []), "\n".join(listed)]).strip() or cls.__doc__
    for method, function in cls.__dict__.items():
        of_cpp = {"__init__": kind, "__call__": "operator()"}.get(method, method)
        with_meaning(function, texts.get(f"{kind}::{of_cpp}"))
