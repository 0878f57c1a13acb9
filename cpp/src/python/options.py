"""Option structs: setting a field that does not exist, or a value of another kind, is an error."""


# Names in other libraries.
ALIASES = {"lr": "fLearningRate", "validation_split": "fValidation", "criterion": "fLoss", "workers": "fThreads"}


def nearest(word, names):
    """The value in `names` whose key, in lower case, is most similar to `word`; None if none is similar."""
    import difflib

    near = difflib.get_close_matches(word.lower().replace("_", ""), names, 1, 0.75)
    return names[near[0]] if near else None


def nearest_field(word, known):
    """The field that `word` may stand for: epochs, batch_size, fOptimizer; None if none is similar."""
    if ALIASES.get(word) in known:
        return ALIASES[word]
    short = {field[1:].lower(): field for field in known}
    own_style = word[:1] == "f" and word[1:2].isupper()
    return nearest(word[own_style:], short)


def meant_by(field, name, known):
    """What to write instead of `field`, which the options `name` do not have."""
    import ROOT

    if meant := nearest_field(field, known):
        return f"write {meant}"
    for other in ("MlpOptions", "FitOptions"):
        if f"CladTorch::{other}" != name and field in fields(getattr(ROOT.CladTorch, other)):
            return f"{other} has it, as {other}({field}=...)"
    return f"it has {', '.join(known)}"


def check_fields(cls, name):
    import ROOT

    known = fields(cls)
    members = ROOT.TClass.GetClass(name)
    kinds = {field: str(members.GetDataMember(field).GetTrueTypeName()) for field in known}
    set_field = cls.__setattr__

    def set_checked(self, field, value):
        if field == "__lifeline":  # PyROOT uses it to keep the vector of an element
            return set_field(self, field, value)
        if field not in kinds:
            raise AttributeError(f"{name} has no field '{field}': {meant_by(field, name, known)}")
        # An enumeration reads back as a plain integer, so that must be accepted here.
        enumeration = kinds[field].startswith("CladTorch::E") and is_integer(value)
        if fault := not enumeration and misfit(kinds[field], value):
            raise TypeError(f"{name}::{field} takes {fault}")
        if field == "fCallback":
            return set_callback(self, value)
        try:
            set_field(self, field, converted(kinds[field], value))
        except (TypeError, ValueError, OverflowError, Unfit) as error:
            raise TypeError(f"{name}::{field} cannot be {value!r}: {error}") from None

    cls.__setattr__ = set_checked
    construct = cls.__init__

    def constructed(self, *args, **values):
        """PyROOT's own keywords would set every other field to 0."""
        if args and not is_a(args[0], name):
            raise TypeError(f"{name} takes its fields by name, as {known[0]}=..., not {named(args[0])}")
        construct(self, *args)
        for field, value in values.items():
            setattr(self, field, value)

    cls.__init__ = constructed


# Methods in other libraries.
METHODS = {"predict_proba": "Predict"}


def suggests_methods(cls, name):
    """m.fit, m.predict_proba: the error names the method of this class."""

    def missing(self, word):
        if word.startswith("_"):
            raise AttributeError(f"a {name} has no attribute '{word}'")
        methods = {each.lower(): each for each in dir(type(self)) if each[:1].isupper()}
        meant = nearest(METHODS.get(word, word), methods)
        raise AttributeError(f"a {name} has no attribute '{word}'" + (f": write {meant}" if meant else ""))

    cls.__getattr__ = missing
