"""model.Fit(data, fEpochs=5) beside model.Fit(data, options), and so for each method that takes FitOptions."""


def refuse_words(where, words, method):
    """Keywords that are neither arguments of `method` nor fields of FitOptions."""
    import ROOT

    known = fields(ROOT.CladTorch.FitOptions)
    taken = dict.fromkeys(each.name for line in signatures(method) for each in parameters(line))
    for word in words:
        if word not in taken:
            nearest = nearest_field(word, known)
            remedy = f"write {nearest}" if nearest else f"it takes {', '.join(taken)} and the options {', '.join(known)}"
            raise TypeError(f"{where} has no argument '{word}': {remedy}")


def takes_options(cls, name, method, at):
    """FitOptions are the argument `at` of the method `method`, or the next one where there is a dataset for validation."""
    wrapped = getattr(cls, method)

    def with_keywords(self, *args, **kwargs):
        import ROOT

        kind = ROOT.CladTorch.FitOptions
        chosen = {field: kwargs.pop(field) for field in list(kwargs) if field[:1] == "f" and field[1:2].isupper()}
        refuse_words(f"{name}::{method}", kwargs, wrapped)
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
