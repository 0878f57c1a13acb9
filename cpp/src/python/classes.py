"""The additions to each class. C++ calls pythonize() when PyROOT meets a class."""


# Classes whose constructors take the fields by name.
BY_FIELDS = ("Binary", "Candidate", "CompileOptions", "FitOptions", "Injection", "MlpOptions", "Response")


def pythonize(cls, name):
    kind = plain(name)
    reads_texts(cls, name)
    if kind not in ("Files", "Label", "Metric", "View"):  # these check theirs; views are made and read at every batch
        check_arguments(cls, name)
    if kind in BY_FIELDS:
        check_fields(cls, name)
    elif kind == "View":
        array_interfaces(cls, name)
    elif kind == "Label":
        made_of(cls, name, KINDS[name].words, label_of)
        gives_texts(cls, "Columns")
    elif kind == "Files":
        made_of(cls, name, KINDS[name].words, names_of)
        gives_texts(cls, "Names")
    elif kind == "Source":
        is_source(cls)
        filters(cls, name)
    elif kind in ("Dataset", "Stream"):
        takes_sources(cls, name)
        if kind == "Dataset":
            takes_weights(cls, name)
            takes_tables(cls, name)
            takes_distributed(cls, name)
            joins(cls)
        else:
            takes_distributed(cls, name)
            takes_options(cls, name, "Batches", at=0)
            gives_batches(cls, name)
    elif kind == "Evaluation":
        takes_rows(cls, "Classifier", ("scores",), "outputs")
        takes_rows(cls, "Regression", ("predictions", "truth", "sigmas"), "targets")
    elif kind == "History":
        lists_epochs(cls)
    elif kind == "Jagged":
        reads_sources(cls)
        is_sequence(cls)
    elif kind == "Batches":
        iterates(cls)
    elif kind == "Model":
        is_model(cls, name)
        takes_frame(cls, name, "Define")
        takes_frame(cls, name, "DefineBatched")
        takes_source(cls, "WriteScores")
        takes_options(cls, name, "Fit", at=1)
        fits_tables(cls, name)
        takes_options(cls, name, "Resume", at=2)
        takes_options(cls, name, "CrossValidate", at=2)
        for method in ("Predict", "Logits", "Gradient"):
            gives_rows(cls, method)
            predicts_tables(cls, name, method)
    elif kind == "Metric":
        takes_functions(cls, name)
    elif kind == "Ensemble":
        takes_frame(cls, name, "Define")
        takes_options(cls, name, "Fit", at=1)
        for method in ("Predict", "Spread"):
            gives_rows(cls, method)
            predicts_tables(cls, name, method)
    elif kind == "RandomSearch":
        takes_options(cls, name, "Run", at=2)
        takes_choices(cls)
    elif kind in ("CoherentSearch", "Functor", "MatchedFilter", "Whitener"):
        takes_numbers(cls, name)
    raises_keyboard_interrupt(cls, name)
    document(cls, name)
    suggests_methods(cls, name)
    shows(cls, name)
    copies(cls, name)
    if kind in ("Ensemble", "Mlp", "Model"):
        pickles_by_file(cls, name)
    elif kind in (*BY_FIELDS, "Scaler", *RECORDS):
        pickles_by_fields(cls, name)
    elif kind in PARTS:
        pickles_by_parts(cls, name)
    else:
        refuses_pickle(cls, name)


check_functions()
reads_complex()
name_types()
complete_namespace()
shows_in_notebook()
