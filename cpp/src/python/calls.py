"""Calls that release Python's lock. During those that may take long its other threads continue, and Ctrl-C raises the
exception of Python's own handler of SIGINT, usually KeyboardInterrupt.
"""

import signal

LONG = {
    "CladTorch": {"Auc", "ToFrame", "ToMatrix", "WriteFriend"},
    "Signal": {
        *("BandPass", "BayesStatistic", "BinarySpectrum", "BinaryStrain", "Blip", "Chirp", "DetectorNoise", "DetectorPsd", "DrawResponses", "FindCandidates"),
        *("InterpolatePsd", "Noise", "Notch", "PhaseShift", "Project", "QTransform", "ReadHdf5", "ReadStrain", "Ringdown", "ScaleToSnr", "ScatteredLight"),
        *("SearchBounds", "SensitiveDistance", "SineGaussian", "SineGaussianFisher", "Snr", "Spectrogram", "TruncateInverse", "Welch", "Whiten"),
        *("WhitenByOwn", "WhitenInBlocks", "Window", "WriteCandidates"),
    },
    "Batches": {"Next"},
    "CoherentSearch": {"__init__", "Loudest", "Statistic"},
    "CrossValidation": {"Evaluate", "Print"},
    "Dataset": {"Add", "Balance", "Correlations", "Split"},
    "Ensemble": {"Define", "Evaluate", "Fit", "Load", "Predict", "Report", "Save", "Spread"},
    "Evaluation": {
        *("Accuracy", "Auc", "AucError", "BestCut", "Bias", "Calibration", "CalibrationError", "Classifier", "Confusion"),
        *("Correlations", "DrawCalibration", "DrawConfusion", "DrawOvertraining", "DrawPulls", "DrawRejection", "DrawResiduals", "DrawRoc"),
        *("DrawScores", "DrawSignificance", "Efficiency", "Explained", "FalseAlarms", "LogLikelihood", "Overtraining", "Precision", "Print", "Recall"),
        *("PullMean", "PullWidth", "Pulls", "Regression", "Rejection", "Residuals", "Resolution", "Rmse", "Roc", "RocBand", "Scores", "Significance", "Temperature"),
    },
    "Jagged": {"Padded", "Read"},
    "MatchedFilter": {"__init__", "ComplexSeries", "Max", "Series"},
    "Mlp": {"__init__", "Load"},
    "Model": {
        *("Auc", "AucError", "CrossValidate", "Define", "DefineBatched", "DrawScores", "Evaluate", "ExportCpp", "ExportOnnx", "ExportTorchScript", "Fit", "Gradient"),
        *("GradientImportance", "Importance", "Load", "LoadOnnx", "LoadTorchScript", "LoadWeights", "Logits", "Predict", "Report", "Resume", "Roc", "Save", "SaveWeights"),
        *("Scores", "WriteScores"),
    },
    "NetworkFilter": {"__init__", "Scores"},
    "OnlineSearch": {"__init__"},
    "RandomSearch": {"Run"},
    "Stream": {"Add"},
    "Whitener": {"__init__"},
}
# Short calls that run LibTorch's autograd engine, which refuses to run under the lock where Python's torch is loaded, too.
DIFFERENTIATING = {"Compiled": {"Backward", "Call", "CallAll", "Forward", "ForwardAll", "HessianVector", "Jacobian"}}


def is_in(calls, where):
    """Whether they name `where`, a class, or a class or namespace and its method or function."""
    owner, _, method = where.rpartition("::")
    return method in calls.get(plain(owner), ()) or "__init__" in calls.get(plain(where), ())


def is_long(where):
    return is_in(LONG, where)


def without_lock(where, overload):
    if is_long(where) or is_in(DIFFERENTIATING, where):
        overload.__release_gil__ = True
    return overload


def raising(method):
    """Python's exception for Ctrl-C; for an error, the exception that a Python function raised inside as its cause.

    Python's signal handlers run only in its main thread. If a handler raises nothing, the call has still ended early.
    """

    def call(*args, **kwargs):
        import ROOT

        try:
            return method(*args, **kwargs)
        except ROOT.CladTorch.Interrupted as error:
            interrupted = error
        except ROOT.CladTorch.Error as error:
            cause = cause_of(error)
            if cause is None or isinstance(cause, Exception):
                raise error from cause
            raise cause  # KeyboardInterrupt, SystemExit: they end more than the call
        signal.raise_signal(signal.SIGINT)
        raise interrupted

    call.__doc__ = method.__doc__
    call.__name__ = method.__name__
    return call


def raises_keyboard_interrupt(cls, name):
    """Must be called after everything else that wraps the methods."""
    for method in LONG.get(plain(name), ()):
        wrapped = raising(getattr(cls, method))
        setattr(cls, method, staticmethod(wrapped) if isinstance(cls.__dict__[method], staticmethod) else wrapped)
