"""C++ strings as Python's own: PyROOT's std::string prints as bytes, supports no format and hashes by its address."""


def plain_text_of(value):
    """`value` as str or a list of str if it is a std::string or a vector of them."""
    kind = getattr(type(value), "__cpp_name__", "")
    if kind == "std::string":
        return str(value)
    return [str(each) for each in value] if kind == "std::vector<string>" else value


class TextMember:
    """A C++ data member that is a string or a list of strings."""

    def __init__(self, member):
        self.member = member

    def __get__(self, owner, cls=None):
        return self if owner is None else plain_text_of(self.member.__get__(owner, cls))

    def __set__(self, owner, value):
        self.member.__set__(owner, value)


def fields(cls):
    """The names of the data members of a class."""
    return [name for name, member in cls.__dict__.items() if type(member).__name__ in ("CPPDataMember", "TextMember")]


def reads_texts(cls, name):
    import ROOT

    members = ROOT.TClass.GetClass(name)
    for field in fields(cls):
        if bare(str(members.GetDataMember(field).GetTrueTypeName())) in ("string", "vector<string>"):
            setattr(cls, field, TextMember(cls.__dict__[field]))


def gives_texts(cls, method):
    """`method`, which check_arguments() does not wrap, with a list of str."""
    wrapped = getattr(cls, method)

    def listed(self):
        return plain_text_of(wrapped(self))

    listed.__doc__ = wrapped.__doc__
    listed.__name__ = method
    setattr(cls, method, listed)
