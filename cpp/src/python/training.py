"""model.Fit(data, fEpochs=5) beside model.Fit(data, options), also for each other method that takes FitOptions."""


# Names of our arguments in other libraries.
ARGUMENT_ALIASES = {"sample_weight": "weight", "eval_set": "validation", "validation_data": "validation", "X": "x"}


def argument_names(method):
    return dict.fromkeys(each.name for line in signatures(method) for each in parameters(line))


def refuse_words(where, words, taken):
    """Keywords that are neither in `taken`, the names of arguments, nor fields of FitOptions."""
    import ROOT

    known = fields(ROOT.CladTorch.FitOptions)
    for word in words:
        if word not in taken:
            alias = ARGUMENT_ALIASES.get(word)
            nearest = alias if alias in taken else nearest_field(word, known)
            remedy = f"write {nearest}" if nearest else f"it takes {', '.join(taken)} and the options {', '.join(known)}"
            raise TypeError(f"{where} has no argument '{word}': {remedy}")


def takes_choices(cls):
    """The values from which an option is drawn may be enumerators, True and False."""
    wrapped = cls.Choice

    def as_numbers(values):
        if not isinstance(values, (list, tuple)):
            return values
        return [float(each) if is_enumerator(each) or isinstance(each, bool) else each for each in values]

    def choice(self, *args, **kwargs):
        kwargs = {name: as_numbers(value) if name == "values" else value for name, value in kwargs.items()}
        return wrapped(self, *args[:1], *map(as_numbers, args[1:]), **kwargs)

    choice.__doc__ = wrapped.__doc__
    choice.__name__ = "Choice"
    cls.Choice = choice


def takes_options(cls, name, method, at):
    """FitOptions are argument number `at` of the method `method`, or the next one if there is a validation dataset."""
    wrapped = getattr(cls, method)

    def with_keywords(self, *args, **kwargs):
        import ROOT

        kind = ROOT.CladTorch.FitOptions
        chosen = {field: kwargs.pop(field) for field in list(kwargs) if field[:1] == "f" and field[1:2].isupper()}
        refuse_words(f"{name}::{method}", kwargs, argument_names(wrapped))
        if not chosen:
            return wrapped(self, *args, **kwargs)
        place = at + any(is_a(each, "CladTorch::Dataset") for each in args[1 : at + 1])
        given = args[place] if len(args) > place else kwargs.pop("options", None)
        options = kind() if given is None else kind(given)
        for field, value in chosen.items():
            try:
                setattr(options, field, value)
            except AttributeError as error:
                raise TypeError(str(error)) from None
        if len(args) <= place:
            return wrapped(self, *args, options=options, **kwargs)
        return wrapped(self, *args[:place], options, *args[place + 1 :], **kwargs)

    with_keywords.__doc__ = wrapped.__doc__
    setattr(cls, method, with_keywords)
