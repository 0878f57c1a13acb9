"""CladTorch: networks trained in ROOT, with gradients made by Clad. Written by cpp/python/make_stub.py."""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Generic, TypedDict, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from typing_extensions import Self, Unpack

_T = TypeVar("_T")
_Path = str | os.PathLike[str]
_Table = ArrayLike | Mapping[str, ArrayLike] | Any  # an array [events, features], a dictionary of columns or a frame of pandas
_Tree = Any  # a tree, a chain or a data frame of ROOT's

__version__: str

class _Pair(Generic[_T]):
    """A std::pair."""

    first: _T
    second: _T
    def __iter__(self) -> Iterator[_T]: ...
    def __getitem__(self, index: int) -> _T: ...
    def __len__(self) -> int: ...

class EReader(int): ...
kAutoReader: EReader
kRootReader: EReader
kFastReader: EReader

class ESharding(int): ...
kReplicated: ESharding
kSharded: ESharding
kOwnShard: ESharding

class ESignificance(int): ...
kSimpleSignificance: ESignificance
kAsimovSignificance: ESignificance

class EActivation(int): ...
kIdentity: EActivation
kReLU: EActivation
kLeakyReLU: EActivation
kTanh: EActivation
kSigmoid: EActivation
kSiLU: EActivation
kGELU: EActivation
kSoftplus: EActivation

class EInit(int): ...
kKaiming: EInit
kXavier: EInit
kUniform: EInit

class ELoss(int): ...
kAuto: ELoss
kBinaryCrossEntropy: ELoss
kSoftmaxCrossEntropy: ELoss
kMeanSquaredError: ELoss
kHuber: ELoss
kFocal: ELoss
kQuantile: ELoss
kGaussian: ELoss

class EOptimiser(int): ...
kAdam: EOptimiser
kAdamW: EOptimiser
kSGD: EOptimiser

class ESchedule(int): ...
kConstant: ESchedule
kCosine: ESchedule
kStep: ESchedule
kOneCycle: ESchedule
kPlateau: ESchedule

class ENegativeWeights(int): ...
kKeepNegative: ENegativeWeights
kDropNegative: ENegativeWeights
kAbsoluteWeights: ENegativeWeights

class EGradient(int): ...
kClad: EGradient
kAutograd: EGradient

class EPrecision(int): ...
kFloat32: EPrecision
kBF16: EPrecision
kTF32: EPrecision
kTF32x3: EPrecision

class EParallel(int): ...
kOneProcess: EParallel
kMpi: EParallel

class EMetric(int): ...
kAuc: EMetric
kAccuracy: EMetric
kRmse: EMetric
kSignificance: EMetric
kLogLikelihood: EMetric

class ENormalisation(int): ...
kNoNormalisation: ENormalisation
kBatchNorm: ENormalisation
kLayerNorm: ENormalisation

class EMixing(int): ...
kProportional: EMixing
kBalanced: EMixing

class EPart(int): ...
kTraining: EPart
kValidation: EPart

class _Options(TypedDict, total=False):
    fEpochs: int
    fBatchSize: int
    fLearningRate: float
    fSchedule: ESchedule
    fDecay: float
    fDecayEpochs: int
    fWarmUp: float
    fWeightDecay: float
    fL1: float
    fClipNorm: float
    fClipValue: float
    fMomentum: float
    fValidation: float
    fSeed: int
    fSplitSeed: int
    fShuffle: bool
    fStandardise: bool
    fThreads: int
    fDevice: _Path
    fOptimiser: EOptimiser
    fLoss: ELoss
    fLossFunction: _Path
    fLogits: bool
    fLabelSmoothing: float
    fFocus: float
    fQuantile: float
    fClassWeights: ArrayLike
    fNegativeWeights: ENegativeWeights
    fPatience: int
    fMinImprovement: float
    fKeepBest: bool
    fCheckpoint: _Path
    fCheckpointEpochs: int
    fCheckpointMinutes: float
    fMetrics: Sequence[Metric | EMetric]
    fCallback: Any
    fLive: bool
    fGradient: EGradient
    fPrecision: EPrecision
    fParallel: EParallel
    fVerbose: int

class Batches:
    """The batches of one epoch of a Stream, one after the other. A thread reads ahead for as long as this lives."""
    def Features(self) -> View:
        """[n, F], features as they were read. Stays valid after Next()."""
        ...
    def Labels(self) -> View:
        """[n], or [n, T] for several targets."""
        ...
    def Next(self) -> bool:
        """Moves to the next batch, at first to the first one; returns `false` after the last. Rethrows errors of the
        reading thread.
        """
        ...
    def Rows(self) -> int:
        """Events of the batch, n: FitOptions::fBatchSize, fewer in the last batch."""
        ...
    def Weights(self) -> View:
        """[n]"""
        ...
    def __init__(self, other: _Batches) -> None: ...
    def __iter__(self) -> Iterator[tuple[View, View, View]]: ...

class CrossValidation:
    """What Model::CrossValidate() found: a model for each fold of the events, trained on the other folds.

        auto folds = model.CrossValidate(events, 5);
        folds.Print();                       // the figures of each fold, their mean and its error
        folds.Evaluate().DrawRoc();          // of all events, each judged by the model that has not seen it
    """
    @overload
    def Evaluate(self) -> Evaluation:
        """Of all events, by Predictions().

        Of the events of one fold.
        """
        ...
    @overload
    def Evaluate(self, fold: int) -> Evaluation: ...
    def FoldOf(self) -> Sequence[int]:
        """[N], the fold of each event, from 0 to k - 1."""
        ...
    def Folds(self) -> int:
        """k"""
        ...
    def Histories(self) -> Sequence[History]:
        """[k]"""
        ...
    def Models(self) -> Sequence[Model]:
        """[k]"""
        ...
    def Predictions(self) -> Sequence[float]:
        """[N, C] row-major: for each event what the model of its fold predicts, which was not trained on it."""
        ...
    def Print(self) -> None:
        """The AUC of each fold, counted from 0 (the accuracy of several classes, the RMSE of a regression), the validation loss of the
        parameters that were kept, the mean over the folds, and its standard error from their spread (whose variance divides by
        k - 1); as the training sets overlap, the true error is somewhat larger. A fold without such a figure (an AUC
        needs events of both classes) shows "nan" and is left out of the mean; a line below says why.
        """
        ...
    def __init__(self, other: CrossValidation) -> None: ...

class Dataset:
    """N events (rows) of F features, a label (or T targets) and a weight each, read from any number of sources.

        CladTorch::Dataset data({"jet1_pt", "m_bb"});
        data.Column("jet_eta", 4, -9);                       // an array: the first 4, padded with -9
        data.Add("sig_tree", "Higgs_data.root", 1).Add("bkg_tree", "Higgs_data.root", 0, "m_bb > 0");

    All sources are read into one float32 tensor [N, F], by the fast reader or by ROOT (see SetReader()). Rows are in
    the order of the entries, under `ROOT::EnableImplicitMT` too. Scalar columns have any arithmetic type or `bool`;
    arrays, `std::vector` and `ROOT::RVec` need a length (see Column()). A source that fails leaves the dataset as it
    was.

    A column (label, weight) is what the source calls it: a branch, `branch.leaf`, a member of a split object
    (`tracks.fX`), a column of a friend. Where the source has no column of that name, the text is an expression, as is
    every cut: C++ over the source's columns, as for `RDataFrame::Define`, evaluated for every event that passes the
    cut. `Sum$(list)`, `Min$`, `Max$` and `Length$` of `TTree::Draw` work too. `list[i]` beyond the end of a list is an
    error that names the entry. Columns() lists an expression by its text, and Model::Define evaluates
    it again. As in C++, `n / 2` of an integer `n` rounds towards zero.

    **Cuts and expressions are code**: they are compiled and run with all rights of the user. Never take them, or names
    of columns, from text that you do not trust.

    Copies are cheap: they share the data until one of them changes. All methods throw CladTorch::Error.
    """
    @overload
    def Add(self, source: Source | _Tree | tuple[str, Files | _Path | Sequence[_Path]], label: Label | float | str | Sequence[str], cut: _Path = ...) -> Self:
        """Adds the events of a source that pass `cut` (an expression; "": all). From a data frame with `Vary`, the
        nominal values are read.
        label: A number for all events, a scalar column or expression, or a list of T columns or expressions: the
               targets of a regression (kMeanSquaredError, kHuber), as in `{"energy", "phi"}`. Every source of a dataset
               must give the same targets in the same order.

        The same with a function as cut: adds the events for which `cut`, called with `columns`, returns true.

            data.SetWeight([](float pt) { return 1 + pt; }, {"pt"});
            data.Add({"events", "run*.root"}, 1, [](float pt, float eta) { return pt > 20 && eta < 2; }, {"pt", "eta"});

        The same for the tree (or RNTuple) `tree` of a file, a glob ("run*.root") or a URL, or of a list of them.

        The same with a function as cut.

        The same for `{"tree", "files"}`, which would otherwise be ambiguous: two literals in braces also make a
        std::string, from two iterators.

        Adds events from memory.

            data.Add(CladTorch::FloatView(numbers).Reshape(data.Width()), CladTorch::FloatView(labels));
        In Python arrays, data frames of pandas and dictionaries of arrays are given as sources: `data.Add(frame, "label")`.
        features: [N, F], the features of each event in the order of the columns: see Lengths().
        labels: [N], or [N, T] for several targets.
        weights: [N]; empty: 1. Throws if it is empty after SetWeight(), as events from memory do not have that
               column.
        targets: Names of the T labels. Empty: none for one label, "target 1", "target 2", ... for several.

        Adds the events of another dataset, with their labels and weights. It must have the same columns and targets.
        """
        ...
    @overload
    def Add(self, tree: _Path, files: Files | _Path | Sequence[_Path], label: Label | float | str | Sequence[str], cut: _Path = ...) -> Self: ...
    @overload
    def Add(self, *, features: ArrayLike, labels: ArrayLike, weights: ArrayLike = ..., targets: Sequence[str] = ...) -> Self: ...
    @overload
    def Add(self, other: Dataset) -> Self: ...
    @overload
    def Add(self, source: _Table, label: float | str | Sequence[str] | ArrayLike, cut: ArrayLike | None = ..., weight: str | ArrayLike | None = ...) -> Self: ...
    def Balance(self) -> Self:
        """Scales the event weights so that all classes (events of one label) have the same total weight and the sum over
        all events stays the same: an event of class c gets w -> w W / (K W_c), with W the sum of all weights, W_c that
        of its class and K the number of classes. Throws if the weight of a class is not positive, for more than 1000
        different labels, and for several targets.
        """
        ...
    @overload
    def Column(self, name: _Path, length: int = ..., pad: float = ...) -> Self:
        """Adds a feature column.
        name: A column of every source that is added later.
        length: Elements per event. 0: the column is a scalar. Otherwise it may be an array, `std::vector` or
               `RVec`, of which the first `length` elements are taken.
        pad: Fills the missing elements of shorter events.
        Throws after the first source was added, and for a name that exists already.

        Adds a column of lists of lists (`std::vector<std::vector<float>>`), or of a flat list of the same total length.
        shape: Number of lists and elements per list. The features are row-major: `{2, 3}` gives 6. Missing
               elements are padded.
        """
        ...
    @overload
    def Column(self, name: _Path, shape: tuple[int, int] | Sequence[int], pad: float = ...) -> Self: ...
    def Columns(self) -> Sequence[str]:
        """Names of the feature columns."""
        ...
    def Correlations(self) -> Any:
        """Linear correlations of the features, weighted: one labelled bin for each element of a column; 0 for a constant one.
        The histogram belongs to the caller; draw it with "COLZ".
        """
        ...
    def Features(self) -> View:
        """[N, F], features as they were read (not standardised)."""
        ...
    def Labels(self) -> View:
        """[N], or [N, T] for several targets."""
        ...
    def Lengths(self) -> Sequence[int]:
        """Elements per event of each column: 1 for a scalar."""
        ...
    def Mask(self, name: _Path) -> Self:
        """Adds a mask of the list column `name`, one feature per element: 1 where the event has the element, 0 where it was
        padded. Columns() calls them "mask(name)". Throws if there is no such column yet.
        """
        ...
    def Print(self) -> None:
        """Prints columns, sources, numbers of events, and the reader of each column."""
        ...
    def Rows(self) -> int:
        """Events, N."""
        ...
    def SetReader(self, reader: EReader) -> Self:
        """Chooses the reader for sources that are added later. The fast reader supports branches of numbers, arrays and
        vectors in local files written by ROOT 3.04 or later. ROOT reads every other column, and Print() names these
        columns and the reason. Both readers give the same bits, with one exception: after a basket without entries
        ROOT's reader returns values of the basket before, while the fast reader returns the right ones. Print() names
        such columns.

        Columns that ROOT's data frame does not read reliably are refused by name: lists in the objects of a collection
        (`tracks.fHits` of a `std::vector` or `TClonesArray`), members of their members in a `TClonesArray`, arrays with
        a count whose baskets omit the offsets, entries after an empty basket (where ROOT would read them), and names
        that several branches share.

        With kFastReader, a column that the fast reader does not support is an error. ROOT evaluates cuts in any case.
        """
        ...
    def SetSharding(self, sharding: ESharding) -> Self:
        """Chooses which part of the sources this process of an MPI job holds. Call it before the first Add.

            CladTorch::Dataset data({"jet1_pt", "m_bb"});
            data.SetSharding(CladTorch::kSharded).Add("events", "run*.root", CladTorch::Label("is_signal"));
            options.fParallel = CladTorch::kMpi; // the fit takes the events of all processes

        With kSharded and kOwnShard the data are spread over the memory of all nodes. A fit with kMpi trains on the same
        batches as a fit to the whole dataset, whatever the number of processes: each process computes those events of a
        batch that it holds. All processes must add the same number of sources. With kSharded they must add the same
        sources, of the kinds that Stream::Add takes, or data from memory, and each process keeps its share. Rows(),
        Features(), Split(), Evaluate() and Predict() refer to the events of this process. Balance() is refused.
        """
        ...
    def SetWeight(self, column: _Path) -> Self:
        """The event weight of sources that are added later: a scalar column or expression, or "" for weight 1. Negative
        weights are kept. Model::Fit refuses a weight that was set after the last Add, as no event would have it.

        The same, computed by `f` from `columns`; `f` is anything that `RDataFrame::Define` takes.
        """
        ...
    def Split(self, first: float, seed: int = ...) -> _Pair[Dataset]:
        """Splits the events at random into two datasets: a fraction `first` in [0, 1], chosen by `seed`, and the rest."""
        ...
    def Stream(self) -> _Stream:
        """A stream of the same columns and weight column, without sources: for data larger than memory."""
        ...
    def Targets(self) -> Sequence[str]:
        """Names of the label columns, T; empty if labels are numbers, or come from columns of different names."""
        ...
    def Weight(self) -> str:
        """The event weight of sources that are added later, as given to SetWeight(); "": 1."""
        ...
    def Weights(self) -> View:
        """[N], 1 where no weight column was set."""
        ...
    def Width(self) -> int:
        """Features per event, F: the sum of the columns' lengths."""
        ...
    @overload
    def __init__(self, columns: Sequence[str] = ...) -> None:
        """Scalar feature columns, in this order."""
        ...
    @overload
    def __init__(self, other: Dataset) -> None: ...
    def __add__(self, other: Dataset) -> Dataset: ...
    def __radd__(self, other: int) -> Dataset: ...
    def __len__(self) -> int: ...

class Ensemble:
    """Models of the same inputs and outputs, whose mean prediction is better than that of each, and whose spread shows how much
    it depends on initial weights and order (deep ensembles: Lakshminarayanan, Pritzel, Blundell, NeurIPS 2017).

        std::vector<CladTorch::Model> members;
        for (int seed = 1; seed <= 5; ++seed)
           members.push_back(CladTorch::Mlp({28, 64, 64, 1}, CladTorch::kReLU, CladTorch::kUniform, seed));
        CladTorch::Ensemble ensemble(members);
        ensemble.Fit(events);
        ensemble.Evaluate(test).Print();
    """
    def Define(self, frame: _Tree, name: _Path, given: Sequence[str] = ...) -> Any:
        """Adds the column `name` with the mean prediction, and the columns `name`_0, `name`_1, ... with those of the members: see
        Model::Define().
        """
        ...
    def Evaluate(self, data: Dataset) -> Evaluation:
        """The evaluation of the mean prediction."""
        ...
    def Fit(self, data: Dataset, options: FitOptions = ..., **words: Unpack[_Options]) -> Sequence[History]:
        """Trains all members, several at once on the threads (FitOptions::fThreads), and returns their histories. Member i
        shuffles the events with the seed fSeed + i, counted from 0; all have the same validation events. Members are trained
        one after the other where LibTorch runs them. The result does not depend on the number of threads. Throws if
        fCheckpoint, fLive or fCallback is set, as they belong to one fit. On an error or Ctrl-C all members stay as they
        were.
        """
        ...
    @staticmethod
    def Load(path: _Path, activation: _Path = ...) -> Ensemble:
        """Reads what Save() wrote; throws for any other file, and for one in which the SHA-256 of a member does not match. No code in
        the file is run.
        activation: See Model::Load(); of all members.
        """
        ...
    def Members(self) -> Sequence[Model]: ...
    @overload
    def Predict(self, data: Dataset) -> NDArray[np.float32]:
        """[N, C] row-major: the mean of the members' predictions. For members trained with kGaussian, the mean and the
        standard deviation of the mixture of their normal distributions: the variance is the mean of theirs plus that of
        their means.
        """
        ...
    @overload
    def Predict(self, data: _Table) -> NDArray[np.float32]: ...
    @overload
    def Report(self, path: _Path, test: Dataset) -> None:
        """Writes a PDF file: the members, and figures and plots of the mean prediction on `test`; with the training events also the test
        for overtraining. See Model::Report().
        """
        ...
    @overload
    def Report(self, path: _Path, test: Dataset, training: Dataset) -> None: ...
    def Save(self, path: _Path) -> None:
        """Writes all members to one file, whole or not at all: see Model::Save()."""
        ...
    def Size(self) -> int: ...
    @overload
    def Spread(self, data: Dataset) -> NDArray[np.float32]:
        """[N, C] row-major: the standard deviation of the members' predictions, with the variance divided by their number
        minus one (as `np.std(..., ddof=1)`); 0 for one member.
        """
        ...
    @overload
    def Spread(self, data: _Table) -> NDArray[np.float32]: ...
    @overload
    def __init__(self, members: Sequence[Model]) -> None:
        """At least one model. They may have different layers, and may be trained already: throws if what they predict differs (a
        classifier beside a regression, other label columns, other quantiles), as Predict() and the like do for members of
        which only some were trained.
        """
        ...
    @overload
    def __init__(self, other: Ensemble) -> None: ...

class Epoch:
    """The argument of a callback, after an epoch of a fit.

    fNumber = 0: from 1 on
    fEpochs = 0: of the fit, if nothing ends it early
    fTrainLoss = 0: see History
    fValidationLoss = 0: NaN without validation events
    fSeconds = 0: wall time
    fLearningRate = 0: of the last step
    fMetrics: the figures of FitOptions::fMetrics, in their order
    """
    fNumber: int
    fEpochs: int
    fTrainLoss: float
    fValidationLoss: float
    fSeconds: float
    fLearningRate: float
    fMetrics: Sequence[float]
    @overload
    def __init__(self, other: Epoch) -> None: ...
    @overload
    def __init__(self) -> None: ...

class Error(Exception):
    ...

class Evaluation:
    """Predictions of N events with their labels and weights, and the figures and plots derived from them.

        auto evaluation = model.Evaluate(test);
        evaluation.Print();
        evaluation.DrawRoc();
        auto [cut, significance] = evaluation.BestCut(25, 1000, 0.1);  // 25 signal and 1000 +- 10 % background events expected

    There are three kinds: classifiers with one output (labels over 0.5 are signal), classifiers of C > 1 classes, and
    regressions of C targets. A classifier of C classes is judged one class against the rest: `output` chooses the class,
    and is 0 otherwise; of a regression it chooses the target. A method that has no meaning for the kind at hand throws
    CladTorch::Error, as all methods do for wrong arguments. All figures take event weights, also negative ones as long
    as the sums stay positive.

    Graphs and histograms belong to the caller and to no directory; canvases belong to ROOT and own what is drawn on them.
    Graphs are thinned out: neighbouring points differ by at most about 1 % of their distance from 0 or 1.
    """
    def Accuracy(self, cut: float = ...) -> float:
        """Share of events that are classified correctly. With one output, an event with a score of at least `cut` is
        signal; with several classes, the one with the largest score is chosen and `cut` is ignored.
        """
        ...
    def Auc(self, output: int = ...) -> float:
        """Area under the ROC curve."""
        ...
    def AucError(self, output: int = ...) -> float:
        """The standard error of Auc() (DeLong, DeLong and Clarke-Pearson 1988)."""
        ...
    def BestCut(self, signal: float = ..., background: float = ..., backgroundError: float = ..., kind: ESignificance = ..., output: int = ...) -> _Pair[float]:
        """The cut with the highest significance, and that significance. Only cuts that at least ten background events pass
        (of equal weight: (sum w)^2 / sum w^2) are considered, as the background is not known otherwise.
        signal, background: Events that a search expects before the cut; 0: the sums of weights.
        backgroundError: Relative uncertainty of the background.
        """
        ...
    def Bias(self, target: int = ...) -> float:
        """Mean of prediction - truth, in the units of the target."""
        ...
    def Calibration(self, bins: int = ..., output: int = ...) -> Any:
        """Share of signal (y) against mean predicted probability (x) in `bins` of equal width, with Wilson's intervals of one
        standard deviation; throws for scores outside [0, 1].
        """
        ...
    def CalibrationError(self, bins: int = ..., output: int = ...) -> float:
        """The mean of |share of signal - predicted probability| over the bins of Calibration() (expected calibration
        error).
        """
        ...
    @staticmethod
    def Classifier(scores: ArrayLike, labels: ArrayLike, weights: ArrayLike = ..., outputs: int = ...) -> Evaluation:
        """The evaluation of a classifier.
        scores: [N], or [N, `outputs`] row-major. Any values, larger for signal; probabilities for the calibration.
        labels: [N]: 0 to 1 for one output, else class numbers from 0 on.
        weights: [N]; empty: 1.
        """
        ...
    def Confusion(self, shares: bool = ...) -> Any:
        """True class (y) against predicted class (x): shares of each true class, or sums of weights."""
        ...
    def Correlations(self, spectators: Dataset, output: int = ...) -> Any:
        """Linear correlation of the prediction with each column of `spectators`, whose rows are these events: one labelled bin a
        column. 0 for a constant column.
        """
        ...
    def DrawCalibration(self, bins: int = ..., output: int = ...) -> Any: ...
    def DrawConfusion(self) -> Any: ...
    def DrawOvertraining(self, training: Evaluation, bins: int = ..., output: int = ...) -> Any:
        """Scores here as points with errors over those of `training` as lines, with the probabilities of Overtraining()."""
        ...
    def DrawPulls(self, target: int = ..., bins: int = ...) -> Any:
        """Pulls() over the standard normal distribution."""
        ...
    def DrawRejection(self, output: int = ...) -> Any:
        """On a logarithmic axis."""
        ...
    def DrawResiduals(self, target: int = ..., bins: int = ...) -> Any: ...
    def DrawRoc(self, output: int = ...) -> Any:
        """With RocBand()."""
        ...
    def DrawScores(self, bins: int = ..., output: int = ...) -> Any: ...
    def DrawSignificance(self, signal: float = ..., background: float = ..., backgroundError: float = ..., kind: ESignificance = ..., output: int = ...) -> Any: ...
    def Efficiency(self, against: ArrayLike, edges: ArrayLike, falseAlarm: float, output: int = ...) -> Any:
        """Share of the signal that passes a cut (y) against another quantity of the events (x), such as a signal's strength, with
        Wilson's intervals of one standard deviation. At most the share `falseAlarm` of the background passes. The
        intervals leave out the uncertainty of that cut: use many times 1 / `falseAlarm` background events. Draw it with
        "P".
        against: [N]; the values of background events are ignored.
        edges: Edges of the bins, rising; a bin contains its lower edge. Bins without signal have no point.
        """
        ...
    def Events(self) -> int:
        """N"""
        ...
    def Explained(self, target: int = ...) -> float:
        """Share of the target's variance that the predictions explain (R squared); NaN for a constant target."""
        ...
    def FalseAlarms(self, cut: float = ..., output: int = ...) -> float:
        """The same for the background."""
        ...
    def Labels(self) -> Sequence[float]:
        """[N]; for a regression [N, C] row-major"""
        ...
    def LogLikelihood(self) -> float:
        """Mean over the events of the logarithm of the predicted normal density at the truth, summed over the targets;
        higher is better.
        """
        ...
    def Outputs(self) -> int:
        """C: classes or targets"""
        ...
    def Overtraining(self, training: Evaluation, output: int = ...) -> _Pair[float]:
        """Probabilities of the Kolmogorov-Smirnov test that signal (first) and background (second) have the same scores here as in
        `training`: small ones (say below 0.01) show that the model knows its training events better than others.
        """
        ...
    def Precision(self, cut: float = ..., output: int = ...) -> float:
        """Share of signal among the events with a score of at least `cut` (purity)."""
        ...
    def Predictions(self) -> Sequence[float]:
        """[N, C] row-major; after kGaussian the means"""
        ...
    def Print(self) -> None:
        """Prints the figures."""
        ...
    def PullMean(self, target: int = ...) -> float:
        """Mean of the pulls, (prediction - truth) / sigma: 0 where the predictions are right."""
        ...
    def PullWidth(self, target: int = ...) -> float:
        """Half the width of the central 68.27 % of the pulls: 1 where the errors are normal and the sigmas right, above 1 where these
        are too small.
        """
        ...
    def Pulls(self, target: int = ..., bins: int = ...) -> Any:
        """The pulls from -5 to 5; the share of events per bin."""
        ...
    def Recall(self, cut: float = ..., output: int = ...) -> float:
        """Share of the signal that has a score of at least `cut` (signal efficiency)."""
        ...
    @staticmethod
    def Regression(predictions: ArrayLike, truth: ArrayLike, weights: ArrayLike = ..., targets: int = ..., sigmas: ArrayLike = ...) -> Evaluation:
        """The evaluation of a regression.
        predictions, truth: [N, `targets`] row-major.
        sigmas: [N, `targets`]: predicted standard deviations, for Pulls(); empty: there are none.
        """
        ...
    def Rejection(self, output: int = ...) -> Any:
        """Background rejection, 1 / efficiency (y), against signal efficiency (x), with errors, for cuts whose background
        efficiency is known to 50 % (from four events of equal weight on); draw it with "A3" or, without errors, "ALX".
        """
        ...
    def Residuals(self, target: int = ..., bins: int = ...) -> Any:
        """Prediction - truth in the units of the target, within five Resolution() of Bias(); the share of events per bin."""
        ...
    def Resolution(self, target: int = ...) -> float:
        """Half the width of the central 68.27 % of prediction - truth: the standard deviation of a normal distribution,
        whatever the tails are.
        """
        ...
    def Rmse(self, target: int = ...) -> float:
        """Root of the mean square of prediction - truth."""
        ...
    def Roc(self, output: int = ...) -> Any:
        """Signal efficiency (y) against background efficiency (x), with the AUC and its error in the title; draw it with "AL"."""
        ...
    def RocBand(self, output: int = ...) -> Any:
        """The same with the standard error of the signal efficiency at each background efficiency; draw it with "A3". It
        combines the errors of both efficiencies, which are binomial for equal weights.
        """
        ...
    def Scores(self, bins: int = ..., output: int = ...) -> _Pair[Any]:
        """Scores of signal (first) and of the rest (second), weighted, each normalised to 1."""
        ...
    def Sigmas(self) -> Sequence[float]:
        """[N, C] row-major: the standard deviations predicted by a model that was trained with kGaussian; empty for others"""
        ...
    def Significance(self, signal: float = ..., background: float = ..., backgroundError: float = ..., kind: ESignificance = ..., output: int = ...) -> Any:
        """Significance (y) against the cut on the score (x); arguments as for BestCut(), which is in the title."""
        ...
    def Temperature(self) -> float:
        """The number that minimises the cross-entropy when logits are divided by it (Guo et al., ICML 2017); above 1 for a
        model that is too certain. Needs the logits of a model; throws for scores that were passed to Classifier().
        """
        ...
    def Weights(self) -> Sequence[float]:
        """[N]"""
        ...
    def __init__(self, other: Evaluation) -> None: ...
    def __len__(self) -> int: ...

class Files:
    """The files of a tree, each a name, a glob ("run*.root") or a URL: whatever `TFile::Open` opens. A string, or a list of
    strings, converts to Files implicitly.

        data.Add("events", "run.root", 1);
        data.Add("events", {"run_1.root", "run_2*.root"}, 1); // in this order
    """
    def Names(self) -> Sequence[str]:
        """As they were given."""
        ...
    @overload
    def __init__(self, names: Sequence[str]) -> None:
        """Overload resolution prefers this constructor for `{"a", "b"}`, so that it never becomes a std::string made from two
        iterators.
        """
        ...
    @overload
    def __init__(self, other: Files | _Path | Sequence[_Path]) -> None: ...

class FitOptions:
    """Options of Model::Fit, which throws a CladTorch::Error for values out of range.

    fEpochs = 20: passes over the training part, at least 1
    fBatchSize = 256: events per step, at least 1
    fLearningRate = 3e-3: of the first epoch, or the largest of kOneCycle; positive
    fSchedule = kCosine: kCosine gives the better model after one fit of fEpochs; use kConstant to train in several fits of one epoch each.
    fDecay = 0.1: factor of the learning rate in kStep and kPlateau, in (0, 1]
    fDecayEpochs = 10: see kStep and kPlateau, at least 1
    fWarmUp = 0: Epochs, or a fraction of one, during which the learning rate first rises from 0, in equal parts at each step.
    fWeightDecay = 0: 0 or more. With kAdam and kSGD the L2 term of the loss; with kAdamW each step multiplies the weights by 1 - learning rate * fWeightDecay, so useful values are larger, such as 0.1 to 2.
    fL1 = 0: factor of the sum of the absolute values of all parameters, a term of the loss
    fClipNorm = 0: scales gradients down whose Euclidean norm over all parameters is larger; 0: none
    fClipValue = 0: limits each component of the gradient to plus and minus this; 0: none
    fMomentum = 0.9: in [0, 1); kSGD only
    fValidation = 0.2: fraction of the events, in [0, 1), used for the validation loss instead of training
    fSeed = 1: Seed of the order of the events, of dropout and of the split into parts. The initial weights have their own (see Mlp).
    fSplitSeed = 0: of the split into parts; 0: fSeed
    fShuffle = true: a new order of the events each epoch
    fStandardise = true: Standardises the features, and the labels of a regression (except with a loss of your own), to mean 0 and standard deviation 1 over the training part (event weights do not count). The model keeps the scalers and undoes them in its predictions. Features that a network takes as whole numbers (`x.to(torch::kLong)`, as for an embedding of categories, floor and the like) stay as they are, as do masks of padding; padded elements with a mask do not count. Targets for a network that ends in a function without negative values are scaled by their root mean square, and stay as they are for one between two numbers. `false`: uses the scalers that the model has; a new model has none.
    fThreads = 0: 0: as many as ROOT::EnableImplicitMT has set, at most one per core; autograd in a forked process uses 1 (set 1 where LibTorch runs a network there).
    fDevice = "cpu": or "cuda:0": the GPU of that number
    fOptimiser = kAdam
    fLoss = kAuto
    fLossFunction: A loss of your own, instead of fLoss: C++ text that defines `double loss(double output, double label)`, or for several outputs `double loss(const double *outputs, double label)`, of one event. Clad differentiates it when Fit begins, which needs clang and Clad's plugin; the derivative is compared with difference quotients. Outputs and labels are not standardised, and Predict() returns the outputs, which Evaluate() judges as values of a regression: see fLogits.
    fLogits = false: The outputs that a loss of your own takes (fLossFunction, or a function of LibTorch's operators) are logits: of label 1 for one output, else of each class. Predictions are then probabilities, and fMetrics, Evaluate(), Report() and exports treat the model as a classifier; labels are those of kBinaryCrossEntropy or kSoftmaxCrossEntropy.
    fLabelSmoothing = 0: Part of each label, in [0, 1), that the cross-entropies spread evenly over all labels (Szegedy et al. 2016).
    fFocus = 2: exponent of kFocal, 0 or more
    fQuantile = 0.5: of kQuantile, in (0, 1)
    fClassWeights: Factors of the weights of events with label 0, 1, ... in the loss of training and validation; empty: 1. fMetrics know only the events' weights. Labels between classes are refused. Dataset::Balance() gives all classes the same weight instead.
    fNegativeWeights = kKeepNegative: fMetrics and Evaluate() take all weights as they are
    fPatience = 0: Ends the fit after this many epochs in a row without a better validation loss; 0: all epochs run. The model gets the parameters of the epoch with the smallest validation loss: see History::RestoredEpoch().
    fMinImprovement = 0: least decrease of the validation loss that counts as an improvement for fPatience
    fKeepBest = false: gives the model the parameters of the best epoch without ending the fit early
    fCheckpoint: The file for checkpoints, each written whole or not at all: after every fCheckpointEpochs epochs, on a dataset also every fCheckpointMinutes minutes and when Ctrl-C ends the fit. Model::Resume() continues from there. Not with a loss of your own.
    fCheckpointEpochs = 1: at least 1
    fCheckpointMinutes = 0: 0: after epochs only
    fMetrics: Figures of the validation events after each epoch, for History::Metric() and the progress line. Functions get the predictions of the parameters after that epoch.
    fCallback
    fLive = false: draws the loss curves on a canvas while the fit runs, once or twice a second
    fGradient = kClad: where kClad has no kernels autograd runs, and Fit says so
    fPrecision = kFloat32: Rounds the factors of products, so that they can take less time: see the page training.md. Fit throws where LibTorch's autograd runs and where no product would be rounded: with kBF16 on the CPU, without AVX512-BF16 or for a network without a linear layer of more than one output that takes the events or is connected with another one by element-wise functions; on a GPU, for a network that does not train by one kernel, with kTF32x3 always and otherwise if no product of a batch has 67 million multiplications. kTF32 and kTF32x3 need a GPU of compute capability 8.0 or newer.
    fParallel = kOneProcess: kMpi: trains with the other processes of an MPI job, all of which run the same macro; see Rank(). Each holds all events of a Dataset, or a part of them after Dataset::SetSharding(). Each reads its part of a Stream, whose batches then differ from fBatchSize by at most the number of ranks. fBatchSize counts the events of all processes together. Only rank 0 prints, draws, calls fCallback and writes checkpoints. An error on one rank ends the job with a message that names it, and so does a rank that sends nothing for 10 minutes (or CLADTORCH_MPI_SECONDS). Outside a job it has no effect. Not on a GPU, with batch normalisation or with LibTorch's autograd.
    fVerbose = 1: 0: only warnings. 1: progress, and the back end if it is not that of fGradient. 2: also the back end, its device and the reason. Progress is one line that is overwritten on a terminal and in a notebook, otherwise a line every few seconds.
    """
    fEpochs: int
    fBatchSize: int
    fLearningRate: float
    fSchedule: ESchedule
    fDecay: float
    fDecayEpochs: int
    fWarmUp: float
    fWeightDecay: float
    fL1: float
    fClipNorm: float
    fClipValue: float
    fMomentum: float
    fValidation: float
    fSeed: int
    fSplitSeed: int
    fShuffle: bool
    fStandardise: bool
    fThreads: int
    fDevice: str
    fOptimiser: EOptimiser
    fLoss: ELoss
    fLossFunction: str
    fLogits: bool
    fLabelSmoothing: float
    fFocus: float
    fQuantile: float
    fClassWeights: Sequence[float]
    fNegativeWeights: ENegativeWeights
    fPatience: int
    fMinImprovement: float
    fKeepBest: bool
    fCheckpoint: str
    fCheckpointEpochs: int
    fCheckpointMinutes: float
    fMetrics: Sequence[Metric]
    fCallback: Any
    fLive: bool
    fGradient: EGradient
    fPrecision: EPrecision
    fParallel: EParallel
    fVerbose: int
    def __init__(self, other: FitOptions = ..., **options: Unpack[_Options]) -> None: ...

class Functor:
    """A frozen copy of a network with one output: later changes of the model do not affect it. It may be called from
    several threads at once.
    """
    def Inputs(self) -> int:
        """Features per event."""
        ...
    def __init__(self, other: _Functor) -> None: ...
    def __call__(self, row: ArrayLike) -> float: ...

class History:
    """Losses after each epoch of one Model::Fit."""
    def BestEpoch(self) -> int:
        """Number of the epoch with the smallest validation loss, from 1 on; 0 without validation events."""
        ...
    def Description(self) -> str:
        """The gradient back end, its device and threads, and the reason for the choice."""
        ...
    def Draw(self, metric: _Path = ...) -> Any:
        """Loss curves against the epoch on a new canvas, which belongs to ROOT (gROOT's list of canvases) and owns what
        is drawn on it. Throws CladTorch::Error for a history without epochs.
        metric: One of MetricNames() to draw instead of the losses.
        """
        ...
    def Epochs(self) -> int:
        """Epochs that were run; fewer than fEpochs if the fit was Interrupted() or fPatience ended it."""
        ...
    def Interrupted(self) -> bool:
        """Whether Ctrl-C ended the fit before its last epoch. See Model::LastFit()."""
        ...
    def LearningRate(self) -> Sequence[float]:
        """[epochs], the learning rate of the last step."""
        ...
    def Metric(self, name: _Path) -> Sequence[float]:
        """[epochs], the figure `name` of the validation events after the epoch."""
        ...
    def MetricNames(self) -> Sequence[str]:
        """Names of FitOptions::fMetrics."""
        ...
    def Print(self) -> None:
        """Prints one line per epoch."""
        ...
    def RestoredEpoch(self) -> int:
        """Number of the epoch whose parameters the model has because of fPatience or fKeepBest; 0: it has the last ones."""
        ...
    def Seconds(self) -> Sequence[float]:
        """[epochs], wall time in seconds."""
        ...
    def TrainLoss(self) -> Sequence[float]:
        """[epochs], the weighted mean loss over the training part, summed up while the weights change."""
        ...
    def ValidationLoss(self) -> Sequence[float]:
        """[epochs], the weighted mean loss over the validation part after the epoch; NaN without a validation part."""
        ...
    @overload
    def __init__(self, other: History) -> None: ...
    @overload
    def __init__(self) -> None: ...
    def __iter__(self) -> Iterator[dict[str, float]]: ...
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: int) -> dict[str, float]: ...
    @overload
    def __getitem__(self, key: slice) -> list[dict[str, float]]: ...

class Interrupted(Error):
    ...

class Jagged:
    """The concatenated values of N events, with the offset of each event. T is `float`, `double`,
    `std::int64_t` or ROOT's `Long64_t`.

        auto jets = CladTorch::Jagged<double>::Read({"events", "run.root"}, "jet_pt", "n_jet > 0");
        auto first = jets.Values()(jets.Offsets()(0));
        auto run = CladTorch::Jagged<std::int64_t>::Read(frame, "run").Values(); // a scalar column: [N]

    In Python, where the type is chosen by `Jagged["double"]`, `jets[i]` is a NumPy array without a copy, read only; a
    slice, a list of indices or a mask makes a Jagged of these events, with a copy of their values.
    """
    def Offsets(self) -> View:
        """[N + 1], starting at 0: event i has the values in [offset i, offset i + 1)."""
        ...
    def Padded(self, length: int, pad: float = ...) -> View:
        """[N, length], each event cut or padded. Throws for a length of 0 and for a result that exceeds the memory of the
        machine.
        """
        ...
    @staticmethod
    def Read(source: Source | _Tree | tuple[str, Files | _Path | Sequence[_Path]], column: _Path, cut: _Path = ...) -> Jagged:
        """Reads one column (or expression, see Dataset) of the events of `source` that pass `cut`, in the order of the
        entries. ROOT's data frame reads it; columns that it does not read reliably are refused, see Dataset::SetReader.
        Cut and expression are code: never take them from text that you do not trust.

        `double` and `std::int64_t` take the numbers exactly or throw a CladTorch::Error that names the entry: integers
        from 2^53 on do not fit `double`; fractions, NaN and unsigned integers from 2^63 on do not fit `std::int64_t`.
        `float` rounds.
        """
        ...
    def Rows(self) -> int:
        """Events, N."""
        ...
    def Values(self) -> View:
        """[Offsets()(N)], or longer if it was constructed so."""
        ...
    @overload
    def __init__(self, values: ArrayLike, offsets: ArrayLike) -> None:
        """offsets: [N + 1], starting at 0, non-decreasing, none beyond the end of `values`; throws CladTorch::Error
               otherwise.
        """
        ...
    @overload
    def __init__(self, other: Jagged) -> None: ...
    def __class_getitem__(cls, kind: Any) -> type[Jagged]: ...
    def __iter__(self) -> Iterator[NDArray[Any]]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: Any) -> Any: ...

class Label:
    """The label of the events of a source: a number for all events, a scalar column or expression, or a list of columns or
    expressions, the targets of a regression. Each of these converts to a Label implicitly.

        data.Add("signal", "run.root", 1);                                  // a class
        data.Add("events", "run.root", "isSignal");                         // a column
        data.Add("events", "run.root", {"energy", "atan2(py, px)"}, "n > 3"); // two targets, and a cut
    """
    def Columns(self) -> Sequence[str]:
        """Empty if the label is a number."""
        ...
    def IsNumber(self) -> bool: ...
    def Number(self) -> float:
        """0 if the label comes from columns."""
        ...
    @overload
    def __init__(self, number: float) -> None:
        """Makes the literal 0 a number instead of a null pointer.

        A null pointer becomes an empty name, which Add refuses.

        Overload resolution prefers this constructor for `{"a", "b"}`, so that it never becomes a std::string made from
        two iterators.
        """
        ...
    @overload
    def __init__(self, column: _Path) -> None: ...
    @overload
    def __init__(self, columns: Sequence[str]) -> None: ...
    @overload
    def __init__(self, other: Label | float | str | Sequence[str]) -> None: ...

class Metric:
    """A figure of the validation events: one of EMetric, or a function.

        options.fMetrics = {CladTorch::kAuc, {"efficiency", [](const CladTorch::Evaluation &e) { return e.Recall(0.9); }}};
    """
    def IsBuiltIn(self) -> bool:
        """Whether it is one of EMetric."""
        ...
    def Name(self) -> str:
        """"AUC", or what was given."""
        ...
    @overload
    def __init__(self, metric: EMetric) -> None:
        """An exception from the function ends the fit with an error; return NaN if there is no figure.
        name: For History::Metric() and the progress line: printable, without "; ".
        """
        ...
    @overload
    def __init__(self, name: _Path, function: Any) -> None: ...
    @overload
    def __init__(self, other: Metric) -> None: ...

class Mlp(Model):
    """Fully connected layers, an activation after each but the last.

        CladTorch::Mlp model({3, 64, 64, 1});
        CladTorch::FitOptions options;
        options.fEpochs = 10;
        model.Fit(data, options).Draw();
        auto scored = model.Define(frame, "score");

    Trained, evaluated and used with the methods of Model.
    """
    @staticmethod
    def Load(path: _Path, activation: _Path = ...) -> Mlp:
        """Reads what Save() wrote; throws for any other file, for a model of a module, and for a file whose SHA-256 does not
        match.
        activation: The text of the model's own activation, if it has one: code from a file is never compiled. The
               error shows the text that is missing.
        """
        ...
    @overload
    def __init__(self, sizes: Sequence[int], activation: EActivation = ..., init: EInit = ..., seed: int = ...) -> None:
        """sizes: Inputs, neurons of each hidden layer, outputs: at least two numbers, none of them 0.
        activation: After each layer but the last.
        init: Distribution of the initial weights and biases.
        seed: Of the initial weights and biases.

        The same with normalisation or dropout. Such an Mlp computes and is saved as a Model of a torch::nn::Sequential: its
        scalers stay those of the first Fit().

        The same with an activation of your own: C++ text that defines `double activation(double x)`; other code may
        precede it. Clad differentiates it, which needs clang and Clad's plugin; the derivative is compared with
        difference quotients. It runs with the back end aot (FitOptions::fGradient = kClad) on the CPU.
        """
        ...
    @overload
    def __init__(self, sizes: Sequence[int], options: MlpOptions) -> None: ...
    @overload
    def __init__(self, sizes: Sequence[int], activation: _Path, init: EInit = ..., seed: int = ...) -> None: ...
    @overload
    def __init__(self, other: Mlp) -> None: ...

class MlpOptions:
    """Further options of the layers of an Mlp.

    fActivation = kReLU: after each layer but the last
    fInit = kUniform: distribution of the initial weights and biases
    fSeed = 1: of the initial weights and biases
    fNormalisation = kNoNormalisation
    fDropout = 0: Probability, in [0, 1), that a value after the activation of a hidden layer is set to 0 in training (Srivastava et al. 2014).
    """
    fActivation: EActivation
    fInit: EInit
    fSeed: int
    fNormalisation: ENormalisation
    fDropout: float
    def __init__(self, other: MlpOptions = ..., *, fActivation: EActivation = ..., fInit: EInit = ..., fSeed: int = ..., fNormalisation: ENormalisation = ..., fDropout: float = ...) -> None: ...

class Model:
    """A network: a module of torch::nn, a function of tensors, or an Mlp.

        #include <CladTorch/Torch.hxx>
        auto net = torch::nn::Sequential(torch::nn::Conv1d(1, 16, 9), torch::nn::ReLU(), torch::nn::Flatten(),
                                         torch::nn::Linear(16 * 120, 1));
        CladTorch::Model model(net, {1, 128});
        model.Fit(windows).Draw();

    N events, F inputs (features per event), C outputs. The outputs are logits for the cross-entropies. Copies are
    cheap: they share the parameters until one of them changes. All methods throw CladTorch::Error.
    """
    def Auc(self, data: Dataset) -> float:
        """Area under the ROC curve of label 1 (over 0.5) against the rest, with event weights; C = 1."""
        ...
    def AucError(self, data: Dataset) -> float:
        """The standard error of Auc() (DeLong, DeLong and Clarke-Pearson 1988)."""
        ...
    def Columns(self) -> Sequence[str]:
        """Columns of the dataset of the last Fit, or those of SetColumns(); empty before."""
        ...
    def CrossValidate(self, data: Dataset, folds: int = ..., options: FitOptions = ...) -> CrossValidation:
        """k-fold cross-validation: splits the events into `folds` parts of equal size (for a classifier each class evenly), and trains
        a copy of this model on the events outside of each part; fValidation is the share of those events that gives the
        validation loss, again split evenly by class. Each copy starts from the parameters that this model had before its
        first fit, because trained parameters may already know the events of a fold. Throws for a trained model from a
        file, whose initial parameters are unknown. Trains several copies at once on the threads (FitOptions::fThreads),
        or one after the other if LibTorch runs the network. fSplitSeed, or fSeed, determines the folds. This model does
        not change. Throws if fCheckpoint, fLive or fCallback is set, as they belong to one fit.
        """
        ...
    def Define(self, frame: _Tree, name: _Path, given: Sequence[str] = ...) -> Any:
        """Adds the column `name` with the prediction to a data frame: `float` for C = 1, `RVec<float>` otherwise. The
        columns may have any arithmetic type. Works under `ROOT::EnableImplicitMT`; the network is frozen as it is now.

        Where this frame has lists for columns that were scalars in the training (the jets of an event, say, for a network of single jets),
        each object gets a prediction of its own: the column `name` is an `RVec<float>` with one for each object, in their order, and
        with C > 1 outputs there are C such columns, `name_0`, `name_1`, ... Scalars and arrays of a fixed length
        (Dataset::Column(name, length)) are repeated for every object. The event loop throws for an event whose lists have different
        lengths, and names the columns and, on one thread, the entry.
        given: Columns or expressions of this frame to use for Columns(), in the same order. Empty: Columns(). As
               expressions are code, those of a model from a file run only if they are given here. For a model without
               Columns(), one scalar per input or one list of all inputs.
        """
        ...
    def DefineBatched(self, frame: _Tree, name: _Path) -> Any:
        """Define() for many events of a tree on one thread. If the fast reader reads all Columns() directly from the tree's
        files, it reads blocks of neighbouring entries ahead and predicts them in batches; the column looks the
        predictions up by entry number. Takes a fraction of Define()'s time (performance.md). Filters, ranges and any
        number of event loops get the bits of Predict(), which are those of Define() for an Mlp. Where a filter passes few
        events, batches of 64 entries around them are predicted.

        Otherwise it falls back to Define() and prints why: several threads (ROOT::EnableImplicitMT), an entry list,
        files that are not local, columns that are expressions, lists, defined in the frame or have variations, networks
        that LibTorch runs. The event loop throws if the tree has changed since the column was defined: changed files, or
        an entry list that was set.
        """
        ...
    def DrawScores(self, data: Dataset, bins: int = ...) -> Any:
        """Scores() on a new canvas, which belongs to ROOT and owns what is drawn on it."""
        ...
    def Evaluate(self, data: Dataset) -> Evaluation:
        """The predictions beside labels and weights: figures and plots. A model trained with a loss on logits is judged as a
        classifier, one trained on values (kMeanSquaredError, a loss of your own without fLogits, ...) as a regression; for a classifier trained on
        values use `Evaluation::Classifier(model.Predict(data), ...)`.
        """
        ...
    def ExportCpp(self, path: _Path, gradient: bool = ...) -> None:
        """Writes what Predict() computes as one C++17 header, which needs neither ROOT nor LibTorch nor CladTorch.

            #include "higgs.hxx"                    // by ExportCpp("higgs.hxx")
            float features[higgs::kInputs] = {...}; // in the units of the training, in the order of higgs::columns
            float predictions[higgs::kOutputs];
            higgs::predict(features, predictions);  // of one event; predict(N, features, predictions) of N
        The namespace is named after the file: what C++ does not allow in a name becomes `_`, and a name that is taken gets
        `model_` before it. It computes in float32 and sums in another order than Predict(), so the last digits may
        differ. It may be called from several threads at once. Throws like ExportOnnx(), and for more than 4 million
        parameters.
        gradient: Also writes `higgs::gradient(features, predictions, jacobian)`: the derivatives of the predictions by the features, in
               the units of both, [kOutputs, kInputs] row-major, in one pass forward and one back for each prediction. The derivatives of
               functions are Clad's text. Throws for weights of convolutions and normalisation that are computed from the event.
        """
        ...
    def ExportOnnx(self, path: _Path) -> None:
        """Writes what Predict() computes as an ONNX file (opset 17, float32), for other programs: with the scaler of the features,
        that of the targets, and the sigmoid or softmax of a classifier. Written as by Save().

        The graph has the input `features` [events, F], in the order of Columns(), and the output `predictions` [events,
        C], for any number of events. Its metadata have the names as JSON, under `columns` and `targets`.
        Parameters have the module's names (`layers.0.weight` of an Mlp). Throws for a network that LibTorch runs, that does not
        take a single event, or that has an operator without a counterpart in ONNX, which the message names.
        """
        ...
    def ExportTorchScript(self, path: _Path) -> None:
        """Writes what Predict() computes as a network of PyTorch, which Python loads with `torch.jit.load(path)`: with the scaler of the
        features, that of the targets, and the sigmoid or softmax of a classifier. Its `forward` takes features [events, F] of float32 and
        gives predictions [events, C], as in evaluation: without dropout, with the running statistics. Parameters are PyTorch's
        parameters under their names (`layers.0.weight` of an Mlp) and go on training there. Written as by Save(). Throws for a network
        that LibTorch runs, that does not take a single event, or that has an activation of your own.
        """
        ...
    @overload
    def Fit(self, data: Dataset, options: FitOptions = ..., **words: Unpack[_Options]) -> History:
        """Trains on `data`, whose width must be the number of inputs, starting from the current parameters.

        The model keeps the scalers (see FitOptions::fStandardise), the columns and the options. A further Fit continues
        from the current model: if it learns other scalers, the first and the last layer of an Mlp are transformed so that
        the predictions stay the same. The weights of a model without scalers apply to standardised features and targets.

        Ctrl-C ends the training within tenths of a second: the model has what it has learned so far, LastFit() the losses,
        and Interrupted is thrown (in Python KeyboardInterrupt). On an error the model stays as it was.

        The same, with the validation loss of the events `validation`, whose columns and targets must be those of `data`. All
        events of `data` are for training, whatever FitOptions::fValidation is.

        The same on events that are read during the training. The scalers and the mean weight come from a sample of as
        many events as the stream's window, spread over all sources. The validation loss uses at most as many validation
        events, chosen by their hashes. Ctrl-C ends the training after a window.

        The same with a dataset for the validation loss, as above.

        Fit with a loss of your own, written with LibTorch's operators; needs `#include <CladTorch/Torch.hxx>`.

            model.Fit(data, options, [](torch::Tensor z, torch::Tensor y) { return (z - y).abs().pow(1.5); });
        If the loss does not accept labels [events, 1] for C > 1 outputs, as `cross_entropy` does not, labels are class
        numbers from 0 to C - 1. The loss gets them as one-hot rows [events, C], which LibTorch treats as class
        probabilities. Every label is checked:

            model.Fit(data, options, [](torch::Tensor z, torch::Tensor y) { return torch::nn::functional::cross_entropy(z, y); });
        A loss that accepts both forms and treats all outputs alike for labels [events, 1], as (z * y).sum(1) does, is
        refused for labels that are class numbers. State which form you mean: y.flatten() or (y.flatten().unsqueeze(1) ==
        torch::arange(C)).to(torch::kFloat).
        loss: Takes outputs [events, C] and labels [events, T] (T = 1, or C targets), also where C or T is 1, and
               returns the loss of each event, [events] or [events, 1], or one number, their mean. Its operators are
               observed like those of a Model and differentiated by Clad; the event weights apply to each event's loss.
               Throws if the loss has an operator without a kernel, mixes events in any other way, or uses tensors that
               require a gradient. After such a fit Predict() returns the outputs as they are or, with
               FitOptions::fLogits, probabilities.

        The same with the validation loss of the events `validation`, as above.

        The same on a stream.

        The same on a stream with a dataset for the validation loss.
        """
        ...
    @overload
    def Fit(self, data: Dataset, validation: Dataset, options: FitOptions = ..., **words: Unpack[_Options]) -> History: ...
    @overload
    def Fit(self, stream: _Stream, options: FitOptions = ..., **words: Unpack[_Options]) -> History: ...
    @overload
    def Fit(self, stream: _Stream, validation: Dataset, options: FitOptions = ..., **words: Unpack[_Options]) -> History: ...
    @overload
    def Fit(self, x: _Table, y: float | str | Sequence[str] | ArrayLike, weight: str | ArrayLike | None = ..., validation: Dataset | _Table | tuple[_Table, ...] | None = ..., options: FitOptions = ..., **words: Unpack[_Options]) -> History: ...
    def Freeze(self, name: _Path) -> None:
        """Freezes the parameter `name` or all parameters below it (`layers.0.weight` or `layers.0` of an Mlp, or the module's
        own names): Fit() leaves them unchanged to the bit, whatever the optimiser and the weight decay. Running
        statistics do change. Print() shows what is frozen. Throws if no name begins so; the message lists the names.
        Copies of the model stay frozen, but files do not record it: call it again after Load(), and before Resume(). An
        Mlp whose first or last layer is frozen keeps its scalers.
        """
        ...
    def Functor(self) -> _Functor:
        """A frozen copy that is called with one `RVecF` row (C = 1), for array columns:
        `frame.Define("score", model.Functor(), {"strain"})`. Of an Mlp it returns the same bits as Predict(); one event of
        other networks may round differently than a batch. The bits do not depend on the number of threads.

        The same, called with N numbers of type T: `Define("score", model.Functor<3>(), model.Columns())`. With a T such
        as `ROOT::RVecF`, each argument holds one value for each object of an event, and the result is an RVecF with one
        score for each object; throws if the lengths differ.
        """
        ...
    @overload
    def Gradient(self, data: Dataset) -> NDArray[np.float32]:
        """[N, C, F] row-major: the derivatives of Logits() by each event's features, in the units of both. `gradient[(n * C + c) * F + f]`
        is the derivative of output c by feature f at event n; for C = 1 this is one row of F values per event. By the
        chain rule, the derivatives of a probability p of one logit are p (1 - p) times these. In Python an array [N, F],
        or [N, C, F].

        Computed with Clad's derivatives, or by LibTorch's autograd if LibTorch runs the network. At a kink (ReLU at 0)
        the derivative is LibTorch's.
        """
        ...
    @overload
    def Gradient(self, data: _Table) -> NDArray[np.float32]: ...
    def GradientImportance(self, data: Dataset, output: int = ...) -> Any:
        """Importance by gradients: how far an output moves, to first order, when a column moves by its standard deviation,

            sum_n w_n |dz/dx(n)| sigma(x) / sum_n w_n,

        where z is the output of Logits(), dz/dx(n) its derivative by the feature x at event n (Gradient()), w_n the event's weight
        and sigma(x) the weighted standard deviation of x over `data`. The unit of x drops out; the result is in units of z: of the
        logit for a classifier, of the target for a regression, of a log variance for the second half of the outputs of kGaussian.
        For an array, the terms |dz/dx| sigma(x) of its elements and of its mask are summed. Bins as in Importance(),
        with the standard error of the mean. Needs no labels, and one pass over the events; unlike Importance() it does
        not say whether the model's use of a column is right, and a feature on a ReLU's flat side counts as 0.
        output: Index of the output, below C. Throws if there is no such output, if a derivative is not finite (the
               message names it), and if the sum of the weights is not positive.
        """
        ...
    def Importance(self, data: Dataset, repeats: int = ..., seed: int = ...) -> Any:
        """Permutation importance (Breiman, Machine Learning 45 (2001) 5): how much the AUC falls (the accuracy of several classes,
        or for a regression how much the RMSE rises, relative to the targets' standard deviations) when the values of a
        column are shuffled among the events of `data`. One labelled bin a column, in rising order, with the mean and
        its standard error over `repeats` shuffles. An array is shuffled as a whole, with its mask. The histogram belongs to
        the caller; draw it with "HBAR MIN0", whose bars begin at 0.
        """
        ...
    def Inputs(self) -> int:
        """F"""
        ...
    def LastFit(self) -> History:
        """The history of the last Fit, also if Ctrl-C ended it early. It has no epochs if there was no Fit since the model
        was made, loaded or given other parameters.
        """
        ...
    @staticmethod
    def Load(path: _Path, activation: _Path = ...) -> Model:
        """Reads what Save() wrote; throws for any other file, and for one whose SHA-256 does not match. Needs neither the
        source of a network nor LibTorch's headers: the model predicts and is trained as the one that was saved, with the same
        bits, but with Clad's derivatives only (FitOptions::fGradient = kClad). No code in the file is run.
        activation: The text of an Mlp's own activation, if it has one: code from a file is never compiled. The
               error shows the text that is missing.
        """
        ...
    @staticmethod
    def LoadOnnx(path: _Path, output: _Path = ...) -> Model:
        """Reads the network of an ONNX file (opsets 7 to 28), as PyTorch, Keras and scikit-learn export them. Its weights go on
        training with Fit(); it predicts, is saved and exported as any other model. `models.md` lists the operators; a
        file with any other is refused, and the message names it.

        The file's input [events, ...] defines an event; its other dimensions must be numbers. The features of several
        inputs follow one another. Predict() returns what the file's network computes. A final sigmoid of one output, or
        a final softmax, is treated as that of a classifier, so that Logits() and losses on logits have their usual
        meaning. Floating-point initialisers become parameters under their names; integers, and constants that scale the
        features before the first layer, do not train. Tensors in other files are read only if these lie in the folder of
        `path` or below it.
        output: The output to predict, if the file has several.
        """
        ...
    @overload
    @staticmethod
    def LoadTorchScript(path: _Path, shape: Sequence[int]) -> Model:
        """Reads a network that PyTorch wrote: `torch.jit.script(net).save("net.pt")`, or `torch.jit.trace`, or torch::jit::Module in
        C++, or `torch.export.save` (`.pt2`); the format is recognised from the file. It becomes a model like one of a
        torch::nn module: it predicts, is fine-tuned by Fit(), saved and exported, with Clad's derivatives where its
        operators have kernels, else run by LibTorch (Print() says why). Parameters keep PyTorch's names
        and `requires_grad`. Needs neither Python nor LibTorch's headers.

            auto model = CladTorch::Model::LoadTorchScript("net.pt", {1, 128});
            auto outputs = model.Predict(windows); // what net.eval() gives
        Its scalers are 0 and 1, also in fits: features are not standardised. Predict() returns what `forward` returns in
        evaluation; after a Fit() with a cross-entropy, or SetOptions() with one as fLoss, it treats these outputs as
        logits and returns probabilities.

        A scripted network has both modes: dropout and batch normalisation train as in PyTorch. A traced one keeps the mode in which it
        was traced, and one of torch.export that of evaluation unless it was exported in training.

        A TorchScript file is a program. Before LibTorch reads it, all sizes and checksums are checked, and that reading
        it runs no code. Its `forward` does run, with LibTorch's operators alone: those that open files or print are
        refused by name. LibTorch's operators are not hardened against hostile input: load TorchScript only from sources
        whose macros you would run, and use LoadWeights() for others.
        shape: Of one event: `forward` takes a tensor [events, shape...] of float32.
        Throws for other and damaged files, for networks with parameters that are not float32 (call `net.float()` in
        PyTorch), and for networks that the constructor refuses.

        The same for a network of several tensors, of one shape each: see the constructor.
        """
        ...
    @overload
    @staticmethod
    def LoadTorchScript(path: _Path, shapes: Any) -> Model: ...
    def LoadWeights(self, path: _Path) -> None:
        """Replaces all tensors of the network by those of a safetensors file, from SaveWeights() or another program, or of PyTorch's
        `torch.save(net.state_dict(), path)`, or of a checkpoint that has such a dictionary (`state_dict`, `model`, ...).
        The file must have every tensor of the network by name, with its type and shape (buffers that do not train may be
        missing), and no others except `num_batches_tracked`. Frozen parameters and buffers with which the network
        computes must equal its own. A file from SaveWeights() also sets scalers, columns and options; a file of another
        program leaves them as they are. Throws for any other file, and the model stays as it was. No code in the file is
        run.
        """
        ...
    @overload
    def Logits(self, data: Dataset) -> NDArray[np.float32]:
        """[N, C] row-major: the outputs of the last layer; after a regression the values of Predict(), after kGaussian with
        the logarithms of the variances in place of standard deviations. Rank by these at low false-alarm rates, where
        probabilities saturate.
        """
        ...
    @overload
    def Logits(self, data: _Table) -> NDArray[np.float32]: ...
    def NewDataset(self) -> Dataset:
        """A dataset of these columns, lists and masks included, without events: fill it and give it to Predict(). Throws for a
        model without columns.
        """
        ...
    def Options(self) -> FitOptions:
        """Options of the last Fit, with the loss that kAuto stood for and the epochs that were run, or those of SetOptions().
        Throws for a model that has none.
        """
        ...
    def Outputs(self) -> int:
        """C

        Of Predict() and, with `raw`, Logits(); what it throws reports the public method that was called.
        """
        ...
    def Parameters(self) -> View:
        """All weights and biases. Of an Mlp layer by layer: weights [outputs, inputs] row-major, then biases [outputs]; of a
        module in the order of its parameters().
        """
        ...
    @overload
    def Predict(self, data: Dataset) -> NDArray[np.float32]:
        """[N, C] row-major: probabilities after a cross-entropy, values in the units of the labels after a regression; after
        kGaussian the means of the C / 2 targets and then their standard deviations. Like WriteScores() and
        DefineBatched(), warns once per model if the mean of a column, over at least ten events, differs from that of the
        training by more than three of the training's standard deviations, for example because of other units.
        """
        ...
    @overload
    def Predict(self, data: _Table) -> NDArray[np.float32]: ...
    def Print(self) -> None:
        """Prints the layers or operators, the number of parameters, columns and options."""
        ...
    @overload
    def Report(self, path: _Path, test: Dataset) -> None:
        """Writes a PDF file: the model, its figures and plots on `test`, the importance of its columns by permutation and by gradients,
        and their correlations. With the training events it also shows the test for overtraining. As with Save(), the
        file appears once it is whole.
        """
        ...
    @overload
    def Report(self, path: _Path, test: Dataset, training: Dataset) -> None: ...
    @overload
    def Resume(self, data: Dataset, path: _Path, options: FitOptions = ...) -> History:
        """Continues a fit from its last checkpoint, with its options: see FitOptions::fCheckpoint. The model must have the
        same layers as the trained one; its parameters come from the file. The data, and the validation dataset if that
        fit had one, must be the same. On the CPU, model and history then have the same bits as if the fit had never
        stopped. If the fit had already ended, the model gets its result and no epoch runs. Throws for a damaged file,
        another network and other data. No code from the file is run.
        options: Only options that do not change the result: fThreads, fVerbose, fLive, fCallback, and fMetrics if
               they have functions. Throws if any other option differs from the checkpoint's. An option with its default
               value counts as not given: a fit with fVerbose = 0 stays quiet unless 2 is given. fThreads, fLive and
               fCallback are not in the checkpoint: give them again.

        The same with a dataset for the validation loss.

        The same for a fit to a stream.
        """
        ...
    @overload
    def Resume(self, data: Dataset, validation: Dataset, path: _Path, options: FitOptions = ...) -> History: ...
    @overload
    def Resume(self, stream: _Stream, path: _Path, options: FitOptions = ...) -> History: ...
    @overload
    def Resume(self, stream: _Stream, validation: Dataset, path: _Path, options: FitOptions = ...) -> History: ...
    def Roc(self, data: Dataset) -> Any:
        """Signal efficiency (y) against background efficiency (x), with the AUC and its error, of all events, in the title.
        The curve is thinned out: on each axis, the distance between neighbouring points is at most 1 % of their distance
        from 0 or 1, whichever is nearer, so that single events remain visible near both ends. (With weights of both
        signs, if that needs more than 16384 points: at most 2 %, 4 %, ..., of 1.) The graph belongs to the caller; draw
        it with "AL".
        """
        ...
    def Save(self, path: _Path) -> None:
        """Writes architecture, parameters, scalers, columns and options to one file, atomically. Keeps the mode and owner
        of a file that it replaces and follows symbolic links. Throws if the path is a device, a pipe, a socket, a folder
        or a read-only file, and if the predictions of an Mlp or the parameters of a module are not finite. A leading `~` is
        the home folder.

        For a model of a module the file holds its operators, with the parameters under the module's own names
        (`0.weight`), where every reader of safetensors finds them. Throws if LibTorch runs the network because an
        operator has no kernel: use torch::save to write the parameters of its module.
        """
        ...
    def SaveWeights(self, path: _Path) -> None:
        """Writes all tensors of the network as a safetensors file with the names of PyTorch's `state_dict` (`layers.0.weight`
        [outputs, inputs] of an Mlp), which `safetensors.torch.load_file` reads and `load_state_dict` takes: parameters and running
        statistics, of a torch::nn module or TorchScript network also frozen and unused parameters, all buffers, and tied ones under each
        name. Scalers, columns and options are metadata. Written as by Save(). Throws for values that are not finite, and
        for a function that LibTorch runs, whose tensors have no names.
        """
        ...
    def Scaler(self) -> _Scaler:
        """The scaler of the F features; empty: features are not standardised."""
        ...
    def Scores(self, data: Dataset, bins: int = ...) -> _Pair[Any]:
        """Predictions of the events with label 1 (first) and of the rest (second), weighted, each normalised to 1.
        The histograms belong to the caller and to no directory.
        """
        ...
    @overload
    def SetColumns(self, names: Sequence[str]) -> None:
        """Scalar columns for the inputs, in their order.

        The columns of `data`, lists and masks included; it needs no events.
        """
        ...
    @overload
    def SetColumns(self, data: Dataset) -> None: ...
    def SetOptions(self, options: FitOptions) -> None:
        """Sets the options of a model whose parameters come from elsewhere: the loss decides whether Predict() gives
        probabilities or values. Fit() takes its own options.
        """
        ...
    def SetParameters(self, values: ArrayLike) -> None:
        """Replaces the parameters; throws for another number of values, and for values that are not finite. Keeps the
        scalers.
        """
        ...
    def SetScaler(self, mean: ArrayLike, deviation: ArrayLike) -> None:
        """Sets the scaler of the features: F finite means and F finite, positive deviations, or two empty lists for no
        scaler; throws otherwise. The parameters do not change.
        """
        ...
    def SetTargetScaler(self, mean: ArrayLike, deviation: ArrayLike) -> None:
        """The same for the targets; throws for a classifier."""
        ...
    def TargetScaler(self) -> _Scaler:
        """The scaler of the targets of a regression, undone on the outputs; empty: outputs are not rescaled."""
        ...
    def Targets(self) -> Sequence[str]:
        """Label columns of that dataset; in a regression one for each output (for each two after kGaussian). Empty if its
        labels were numbers.
        """
        ...
    def Unfreeze(self, name: _Path = ...) -> None:
        """Lets these parameters train again; "": all."""
        ...
    def WriteScores(self, source: Source | _Tree | tuple[str, Files | _Path | Sequence[_Path]], path: _Path, column: _Path = ..., tree: _Path = ...) -> None:
        """Predicts every entry of a tree, chain or RNTuple of any size and writes the scores as a friend tree to the file
        `path`, which it replaces: `chain.AddFriend("cladtorch", path)`. It reads, predicts and writes in blocks of
        entries, so it needs the memory of one block, and is many times faster than Define() where the fast reader
        supports the columns.
        source: Without cuts: a friend needs a score for every entry.
        column: Name of the score column: a float for C = 1, else an array of C floats.
        tree: Name of the written tree.
        The file appears whole or not at all; see WriteFriend(). The columns of a model from a file may be expressions, which are
        code: they run only after `model.SetColumns(model.Columns())`.
        """
        ...
    def __init__(self, other: Model) -> None:
        """Observes a module or a function of one tensor, as CladTorch::Compile does, in training and in evaluation. Clad's
        derivatives of its operators train it. LibTorch itself runs a network that has operators without
        kernels or does more than call operators, and fits with `FitOptions::fGradient = kAutograd`. Print() and the
        first line of Fit() say which of the two runs, and why. Needs `#include <CladTorch/Torch.hxx>`.

        The parameters that the function uses, and the running statistics that it changes, become views of the model's
        memory: after Fit() or SetParameters() the module has the new values, without a copy, and changes in place (by an
        optimiser of LibTorch) change the model. The model throws if parameters were replaced instead (torch::load,
        set_data), or if a tensor that does not train was changed: make a new one then. If several copies of a model
        exist, the module has the parameters of the one that changed last. Functors and columns of Define() keep their own.

        The model is what the module was when it was made: make a new one after layers were added or replaced. Fit() throws if
        `requires_grad` of a parameter has changed since. A fit switches the whole module to training, also layers in eval().
        The observation, and each fit before it begins, calls the module a few times on made-up events: parameters, buffers and
        modes are restored, but members that are neither (a counter, a tensor that is not registered) keep what these calls made
        of them.

        The scalers stay those of the first Fit(), because the parameters of a module cannot be transformed to match new
        ones. FitOptions::fSeed determines what dropout draws: with Clad's derivatives the same for any number of
        threads, on LibTorch from its own generator, whose state is restored. If one event is left after the last whole
        batch and the module does not accept a single event (batch normalisation), that event joins the last batch.
        function: A module of torch::nn (`torch::nn::Sequential net`, or a std::shared_ptr of a class derived from
               torch::nn::Module; train() and eval() are switched), or a function. It takes a float32 tensor [events,
               shape...] and returns [events, C] or [events], with the same operators for any number of events and with float32
               parameters on the CPU. In evaluation, outputs among 257 events and in batches of the size of each fit's are compared
               with those among 6, fewer where an event has more than 2000 numbers. Throws for a network that mixes the events of
               a batch in evaluation, where each event is predicted by itself (the message names the operator), for one that
               draws random numbers in evaluation, and for one without parameters to train.
        shape: Of one event; its product is F, the width of the datasets.

        The same for a function of several tensors, or a std::vector of them: [events, shape...] for each of `shapes`. The
        columns of a dataset are, in their order, the elements of the first tensor, then those of the second one, and so on:

            events.Column("particles", {30, 8}).Mask("particles").Column("met");
            torch::Tensor forward(torch::Tensor particles, torch::Tensor mask, torch::Tensor met);
            CladTorch::Model model(forward, {{30, 8}, {30, 8}, {1}});

        Masks are standardised like all columns, and a mask that is constant over all events becomes 0: set
        FitOptions::fStandardise = false for a network that takes masks.
        """
        ...

class RandomSearch:
    """Fits with networks and options drawn at random, to find the best (Bergstra and Bengio, JMLR 13 (2012) 281).

        CladTorch::RandomSearch tuning({CladTorch::Mlp({28, 64, 1}), CladTorch::Mlp({28, 128, 128, 1})});
        tuning.LogUniform("fLearningRate", 1e-4, 1e-1).Choice("fBatchSize", {64, 256, 1024});
        tuning.Run(events, 30);
        tuning.Print();
        auto model = tuning.BestModel();

    Trial number i depends on FitOptions::fSeed and i alone, not on the number of threads or trials. All trials are
    judged by the same validation events, or the same folds. If all options have a choice of values and none has a
    range, no combination is tried twice.
    """
    def BestModel(self) -> Model:
        """The model of that trial; with folds, a model fitted to all events with its options."""
        ...
    def BestTrial(self) -> Trial:
        """The trial with the best score. Throws if no trial has a score."""
        ...
    def Choice(self, option: _Path, values: ArrayLike) -> Self:
        """Draws it from `values`: numbers, enumerators, or 0 and 1 for `false` and `true`."""
        ...
    def Draw(self, option: _Path) -> Any:
        """The score of each trial, with its standard error if there is one, against the drawn `option`; the best trial is marked. An axis
        of values that span more than a factor of 20 is logarithmic. The canvas belongs to ROOT. Throws for an option that is not
        drawn, and before a trial has a score.
        """
        ...
    def LogUniform(self, option: _Path, low: float, high: float) -> Self:
        """The same, uniform in the logarithm: as often from 1e-4 to 1e-3 as from 1e-3 to 1e-2."""
        ...
    def Print(self, most: int = ...) -> None:
        """Prints the best trials with their options, at most `most`."""
        ...
    def Run(self, data: Dataset, trials: int = ..., options: FitOptions = ..., folds: int = ...) -> None:
        """Runs `trials` more fits to `data`, several at once on the threads (FitOptions::fThreads), or one after the other
        if LibTorch runs a network or fMetrics has functions. The fits start from the parameters that the models had
        before their first fit; the models do not change. A fit that fails, for example because its loss diverges, has no
        score and says why. Ctrl-C keeps the finished trials. A further Run() continues, with the same events, folds,
        fValidation and seeds. Throws if no trial has a score; Trials() says why.

        options: Options that are not drawn. The score is the first of fMetrics. Without fMetrics it is the AUC,
               the accuracy for several classes, the RMSE for a regression, or the log likelihood after kGaussian;
               kQuantile and losses of your own need a metric. Lower is better for the RMSE, higher for every other
               metric. fSplitSeed, or fSeed, determines the events that judge. Throws if fCheckpoint, fLive or fCallback
               is set, as they belong to one fit.
        folds: 0: the score is that of the validation events (fValidation) for the parameters that the fit keeps. 2
               or more: the mean over as many folds, each judged by a model that was trained on the others (see
               Model::CrossValidate()).
        """
        ...
    def Table(self) -> Any:
        """One row per trial: `trial`, `model`, `score`, `score_error`, `loss`, `epochs`, `seconds` and the options that
        were drawn, as numbers (`double`). Draw() shows the score against an option, Snapshot() writes a tree.
        """
        ...
    def Trials(self) -> Sequence[Trial]:
        """All trials, in the order of their numbers."""
        ...
    def Uniform(self, option: _Path, low: float, high: float) -> Self:
        """Draws the member `option` of FitOptions uniformly from `low` to `high`, both included for an integer."""
        ...
    @overload
    def __init__(self, model: Model) -> None:
        """Each trial starts from one of the models, chosen with equal probability."""
        ...
    @overload
    def __init__(self, models: Sequence[Model]) -> None: ...
    @overload
    def __init__(self, other: RandomSearch) -> None: ...

class Scaler:
    """Columns are standardised as (x - mean) / deviation, in float32.

    fMean: one per column
    fDeviation: standard deviations, one per column; 1 for a constant column
    """
    fMean: Sequence[float]
    fDeviation: Sequence[float]
    @overload
    def __init__(self, other: _Scaler) -> None: ...
    @overload
    def __init__(self) -> None: ...

class Source:
    """A data frame node, a tree or chain, or a tree given by its name and file. Nothing is opened before it is read.

    Functions that take a Source accept data frames, trees and chains directly; a tree in a file needs two strings,
    `Source("sig_tree", "Higgs_data.root")`.
    """
    def Filter(self, cut: _Path) -> Source:
        """The events of this source that pass `cut`, an expression as Dataset::Add takes it ("": all). It is code: never take it
        from text that you do not trust.

        The events of this source for which `f` of `columns` is true; `f` is anything that `RDataFrame::Filter` takes.
        """
        ...
    @overload
    def __init__(self, frame: _Tree) -> None:
        """Any node of a data frame's graph: a filter, a range, a data frame itself.

        A tree or chain, with its friends (also indexed ones); only the entries of its entry list, if it has one. It
        may be in memory, and must live until the source has been read.

        The tree (or RNTuple) `tree` ("folder/tree") of a file, a glob ("run*.root") or a URL, or of a list of them.
        """
        ...
    @overload
    def __init__(self, tree: _Tree) -> None: ...
    @overload
    def __init__(self, tree: _Path, files: Files | _Path | Sequence[_Path]) -> None: ...
    @overload
    def __init__(self, other: Source | _Tree | tuple[str, Files | _Path | Sequence[_Path]]) -> None: ...

class Stream:
    """Events that are read during the training: N may exceed memory.

        CladTorch::Stream stream({"jet1_pt", "m_bb"});
        stream.Add("sig_tree", "huge_*.root", 1).Add("bkg_tree", "huge_*.root", 0, "m_bb > 0");
        model.Fit(stream, options);

    The order of the events is reproducible: it depends on the sources, FitOptions (fSeed, fShuffle, fBatchSize,
    fValidation), the window and the mixing, but not on the number of threads or on the read-ahead. In every epoch, the
    clusters of each source are shuffled (long clusters in pieces of a window), all sources are read in parallel in
    proportion to their shares, and the events within a window of entries are shuffled together. A hash of the seed, the
    index of the source and the entry assigns an event to the validation part, the same in every epoch. The first
    windows are smaller, so that training starts early.

    Memory, for each Batches: the window, the read-ahead of the same size, and a few blocks of 8 MB. If the fast reader
    supports all columns, it reads one cluster of each source at a time and keeps it and the one before. Each of the two
    takes at most 128 MB less the window, for all sources together, or the size of a window if that is more. Training
    keeps one more window as a table and another one of validation events. One thread reads, with one event loop per
    block. Do not use trees and data frames elsewhere while a stream reads them. Model::Fit switches implicit
    multi-threading off for as long as it runs; where it is on, Batches() gives events only of sources without a cut
    whose columns the fast reader reads.

    A forked process cannot use the streams of its parent.

    Copies refer to the same stream. All methods throw CladTorch::Error.
    """
    @overload
    def Add(self, source: Source | _Tree | tuple[str, Files | _Path | Sequence[_Path]], label: Label | float | str | Sequence[str], cut: _Path = ...) -> Self:
        """Adds the events of a source that pass `cut`; `label` is that of Dataset::Add. The cut is code: never take it from
        text that you do not trust. Opens the source, but reads no event yet. Supported are trees, RNTuples, chains,
        their files and data frames on them, but not entry lists, data frames with a range or on another source, or data
        frames made under `ROOT::EnableImplicitMT`. A tree and its file must outlive the stream and its batches, which a
        source given by file name does by itself.

        The same with a function as cut: adds the events for which `cut`, called with `columns`, returns true.

        The same for the tree `tree` of a file, a glob ("run*.root") or a URL, or of a list of them.

        The same with a function as cut.

        The same for `{"tree", "files"}`, which would otherwise be ambiguous: two literals in braces also make a
        std::string, from two iterators.
        """
        ...
    @overload
    def Add(self, tree: _Path, files: Files | _Path | Sequence[_Path], label: Label | float | str | Sequence[str], cut: _Path = ...) -> Self: ...
    def Batches(self, options: FitOptions = ..., epoch: int = ..., part: EPart = ..., **words: Unpack[_Options]) -> _Batches:
        """Batches of one epoch, from 1 on: what Model::Fit trains on with the same options."""
        ...
    def Columns(self) -> Sequence[str]:
        """Names of the feature columns."""
        ...
    def Entries(self) -> int:
        """Entries of all sources, before the cuts."""
        ...
    def SetBuffer(self, entries: int) -> Self:
        """Entries that may be read ahead, at least one block. Affects only memory and waiting times. 0: as many as the
        window.
        """
        ...
    def SetMixing(self, mixing: EMixing) -> Self: ...
    def SetWindow(self, entries: int) -> Self:
        """Entries (before the cuts) that are shuffled together, at most 2^30. 0: as many as 64 MB of features hold, at most
        65536. Scalers and the validation loss come from as many events, so that a few hundred are too few.
        """
        ...
    def Targets(self) -> Sequence[str]:
        """Names of the label columns, as Dataset::Targets()."""
        ...
    def Weight(self) -> str:
        """Column or expression of the event weight; "": every event weighs 1."""
        ...
    def Width(self) -> int:
        """Features per event, F."""
        ...
    @overload
    def __init__(self, columns: Sequence[str]) -> None:
        """Scalar feature columns, in this order. For lists, masks and weights, make a Dataset and call Dataset::Stream."""
        ...
    @overload
    def __init__(self, other: _Stream) -> None: ...

class Trial:
    """One trial of a RandomSearch and its result.

    fNumber = 0: from 0 on
    fModel = 0: index of the model that it started from
    fOptions: the options of the fit, drawn ones included
    fScore = 0: the metric, or its mean over the folds; NaN if the fit failed
    fScoreError = 0: standard error of the mean over the folds (variance divided by folds - 1); else NaN
    fLoss = 0: validation loss of the kept parameters, or its mean over the folds
    fEpochs = 0: epochs run, summed over the folds
    fSeconds = 0: training time in s, summed over the folds
    fError: why there is no score
    """
    fNumber: int
    fModel: int
    fOptions: FitOptions
    fScore: float
    fScoreError: float
    fLoss: float
    fEpochs: int
    fSeconds: float
    fError: str
    @overload
    def __init__(self, other: Trial) -> None: ...
    @overload
    def __init__(self) -> None: ...

class View:
    """Numbers of type T (`float`, `double`, `std::int64_t` or ROOT's `Long64_t`) in row-major order, [rows] or
    [rows, columns], without a copy.

    The view shares ownership of the memory: the numbers stay valid and unchanged for as long as it lives, whatever
    happens to the dataset or model that it came from. In Python it supports NumPy's array interface and DLPack:
    `np.asarray(view)`, `np.from_dlpack(view)` and `torch.from_dlpack(view)` make no copy, indexing works as for NumPy's
    arrays, and `FloatView(array)` makes a view of an array of one or two dimensions. Integers that T cannot hold are
    refused.
    """
    def Columns(self) -> int:
        """Elements per row; 1 for a list."""
        ...
    def Rank(self) -> int:
        """1 for a list, 2 for a matrix."""
        ...
    def Reshape(self, columns: int) -> View:
        """The same numbers as rows of `columns` each. Example: predictions [N, C], which come as one list,
        `FloatView(model.Predict(data)).Reshape(model.Outputs())`. Throws CladTorch::Error if the last row is not full.
        """
        ...
    def Rows(self) -> int: ...
    def Size(self) -> int: ...
    def ToRVec(self) -> Sequence[float]:
        """A copy of all numbers, [Size()]."""
        ...
    @overload
    def __init__(self) -> None:
        """A view of `columns` elements per row, or of a plain list if `columns` is 0. `owner` keeps `data` alive. Throws
        CladTorch::Error for a null pointer with rows.

        An empty view.

        [values.size()]: takes ownership of `values`.
        """
        ...
    @overload
    def __init__(self, values: ArrayLike) -> None: ...
    @overload
    def __init__(self, other: ArrayLike) -> None: ...
    def __class_getitem__(cls, kind: Any) -> type[View]: ...
    def __call__(self, row: int, column: int = ...) -> float: ...
    def __array__(self, dtype: Any = ..., copy: bool | None = ...) -> NDArray[Any]: ...
    def __dlpack__(self, **options: Any) -> Any: ...
    def __dlpack_device__(self) -> tuple[int, int]: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __len__(self) -> int: ...
    def __getitem__(self, key: Any) -> Any: ...

FloatView = View
_Batches = Batches
_Functor = Functor
_Scaler = Scaler
_Stream = Stream

def Auc(scores: ArrayLike, labels: ArrayLike, weights: ArrayLike = ...) -> float:
    """Area under the ROC curve of scores of any origin, without making an Evaluation; the arguments are those of
    Evaluation::Classifier(), for one output.
    """
    ...

def Rank() -> int:
    """Number of this process in the MPI job, from 0 on; 0 outside a job. Macros should print and save only on rank 0."""
    ...

def Ranks() -> int:
    """Number of processes in the MPI job; 1 outside a job."""
    ...

def ToFrame(columns: Mapping[str, ArrayLike]) -> Any:
    """A data frame of N entries: a `float` column for a list, an `RVec<float>` column for rows of numbers. The numbers are
    shared, not copied. Throws for columns of different lengths and for names that are not C++ identifiers.
    """
    ...

def ToMatrix(view: ArrayLike) -> Any:
    """[rows, columns], a copy; a list becomes one column. Throws for more rows or columns than an `int` can count."""
    ...

def WriteFriend(tree: _Tree, path: _Path, columns: Mapping[str, ArrayLike], name: _Path = ...) -> None:
    """Writes a tree `name` to the new file `path`, entry by entry beside `tree`; make it a friend with
    `tree.AddFriend("cladtorch", path)`.

        CladTorch::Dataset all(model.Columns());
        all.Add(tree, 0);                                    // every entry: no cut
        CladTorch::WriteFriend(tree, "scores.root", {{"score", model.Predict(all)}});

    A list becomes a branch of `float`, rows of numbers one of `float[columns]`. The file appears whole or not at all,
    in place of an older one, whose mode and owner it keeps. Throws unless every column has one row per entry of the
    tree and a name that expressions can use (letters, digits and _), and if the file cannot be written or Model::Save()
    would refuse its path.
    """
    ...

def Compile(function: Any, examples: Sequence[Any], options: Any = ..., **fields: Any) -> Any:
    """Observes a C++ function of tensors and compiles it, with gradients: Compile(ROOT.f, [x, w], fDynamicBatch=True)."""
    ...

class Signal:
    """The namespace of functions for strain data."""

    class EPhase(int): ...
    kUnknownPhase: EPhase
    kKnownPhase: EPhase

    class EDesign(int): ...
    kAnalytic: EDesign
    kZeroDetunedHighPower: EDesign

    class EWindow(int): ...
    kHann: EWindow
    kTukey: EWindow
    kBlackman: EWindow

    class EAverage(int): ...
    kMean: EAverage
    kMedian: EAverage

    class EApproximant(int): ...
    kTaylorF2: EApproximant
    kPhenomD: EApproximant

    @staticmethod
    def AntennaPattern(detector: _Path, rightAscension: float, declination: float, polarisation: float, gps: float) -> _Pair[float]:
        """F+ and Fx: the strain is F+ h+ + Fx hx (Anderson, Brady, Creighton and Flanagan, Phys. Rev. D 63 (2001) 042003).
        polarisation: Angle psi from the direction of the celestial pole to the wave's x axis.
        """
        ...

    @staticmethod
    def AucBound(snr: float, phase: Signal.EPhase) -> float:
        """Largest area under the ROC curve that any test of a signal of known shape and arrival time can have (Neyman and
        Pearson 1933): Phi(rho/sqrt(2)), or 1 - exp(-rho^2/4)/2 at unknown phase.
        snr: rho, in [0, 100].
        """
        ...

    @staticmethod
    def BandPass(strain: ArrayLike, rate: float, low: float, high: float) -> Sequence[float]:
        """[n], `strain` ([n]) between `low` and `high` (Hz) without delay: gain 1/2 at the edges, 1.5e-5 an octave outside. 0 and half the
        sampling rate leave that side open. The series is taken as periodic.
        """
        ...

    @staticmethod
    def BayesStatistic(series: ArrayLike, snr: float) -> float:
        """Logarithm of the mean of I0(rho z) exp(-rho^2/2) over `series`, the SNRs z at all arrival times and of all templates
        that are possible: the best statistic for a signal of optimal SNR rho at unknown phase, arrival and template.
        snr: rho, in [0, 100].
        """
        ...

    @staticmethod
    def BinarySpectrum(binary: Signal.Binary, approximant: Signal.EApproximant, frequencies: ArrayLike) -> Sequence[complex]:
        """[frequencies.size()], the Fourier transform of the plus polarisation, integral h(t) exp(-2 pi i f t) dt in 1/Hz, with the
        coalescence at time 0. 0 below the start frequency and above the end of the model.
        frequencies: In Hz, in any order.
        """
        ...

    @staticmethod
    def BinaryStrain(binary: Signal.Binary, approximant: Signal.EApproximant, samples: int, rate: float, coalescence: float) -> Sequence[float]:
        """[samples], the strain of the plus polarisation. If the waveform is longer, the window holds its end. The spectrum
        rises from 0 over the tenth below the start frequency.
        coalescence: Time of coalescence in s after the first sample.
        """
        ...

    @staticmethod
    def Blip(samples: int, rate: float, frequency: float, arrival: float) -> Sequence[float]:
        """[samples], a short broad-band glitch, (1 - 2 x^2) exp(-x^2) with x = pi f t and t counted from `arrival` (s). Its spectrum
        peaks at f.
        frequency: f in Hz.
        """
        ...

    @staticmethod
    def Chirp(samples: int, rate: float, chirpMass: float, start: float, coalescence: float) -> Sequence[float]:
        """[samples], the inspiral of two equal masses at Newtonian order (Maggiore, Gravitational Waves 1, 2008, sec. 4.1),
        from `start` Hz to the innermost stable circular orbit, with a peak of about 1.
        chirpMass: In solar masses.
        coalescence: Time of coalescence in s after the first sample.
        """
        ...

    @staticmethod
    def Delay(detector: _Path, rightAscension: float, declination: float, gps: float) -> float:
        """Arrival time at the detector minus that at the centre of the Earth, in s."""
        ...

    @staticmethod
    def DetectorNoise(detector: _Path, psd: ArrayLike, rate: float, seed: int) -> Sequence[float]:
        """Noise() of one detector. The noise of another detector with the same seed is independent."""
        ...

    @staticmethod
    def DetectorPsd(samples: int, rate: float, design: Signal.EDesign = ...) -> Sequence[float]:
        """[samples/2 + 1], the power spectral density of a detector's design."""
        ...

    @staticmethod
    def DrawResponses(detectors: Sequence[str], count: int, seed: int = ...) -> Sequence[Signal.Response]:
        """[count], sources uniform over the sky, the orientation of the orbit and its phase. The squares of a source's
        amplitudes sum to 1: with equal noise, scale each detector's wave to the network SNR times |a|. The same seed gives
        the same sources; a longer list begins with the shorter one.
        detectors: Names, as {"H1", "L1"}.
        """
        ...

    @staticmethod
    def EfficiencyBound(snr: float, falseAlarm: float, phase: Signal.EPhase) -> float:
        """Largest detection probability of any such test at the false-alarm probability `falseAlarm`:
        Phi(rho - Phi^-1(1 - FAP)), or Marcum's Q1(rho, sqrt(-2 ln FAP)) at unknown phase.
        """
        ...

    @staticmethod
    def FindCandidates(scores: ArrayLike, start: float, step: float, threshold: float, gap: float = ...) -> Sequence[Signal.Candidate]:
        """The largest of each cluster of scores above `threshold`, in order of time. Scores belong to one cluster as long as no more than
        `gap` lies between two above the threshold.
        scores: Of one output, as NetworkFilter::Scores() gives them.
        start: Time of the first score, in s: the start of its window plus the place of the signals in the training
               windows.
        step: Between two scores, in s.
        """
        ...

    @staticmethod
    def InterpolatePsd(psd: ArrayLike, samples: int) -> Sequence[float]:
        """[samples/2 + 1], `psd` (any length) on the frequencies of a series of `samples` samples at the same sampling rate."""
        ...

    @staticmethod
    def NetworkSnr(snrs: ArrayLike) -> float:
        """SNR of several detectors together: the root of the sum of the squares."""
        ...

    @staticmethod
    def Noise(psd: ArrayLike, rate: float, seed: int) -> Sequence[float]:
        """[n], Gaussian noise of the density `psd` ([n/2 + 1]) with period n; the same seed gives the same bits. For windows
        that must not be periodic, cut them from a much longer series. For several detectors use DetectorNoise(), because
        the same seed gives the same series.
        """
        ...

    @staticmethod
    def Notch(strain: ArrayLike, rate: float, frequency: float, width: float) -> Sequence[float]:
        """[n], `strain` ([n]) without the line at `frequency` (Hz): gain 0 there, 1/2 at half the `width` (Hz) on each side."""
        ...

    @staticmethod
    def PhaseShift(strain: ArrayLike, phase: float) -> Sequence[float]:
        """[n], `strain` ([n]) with every frequency shifted by `phase` rad. Two copies a quarter turn apart have equal SNR and
        are orthogonal in any stationary noise. The mean and the Nyquist bin are dropped: they have no phase.
        """
        ...

    @staticmethod
    def Project(plus: ArrayLike, cross: ArrayLike, rate: float, detector: _Path, rightAscension: float, declination: float, polarisation: float, gps: float) -> Sequence[float]:
        """[n], the strain of the detector for a wave with the polarisations `plus` and `cross` ([n]) at the centre of the
        Earth, with its antenna pattern and its delay. The series is taken as periodic; its mean and its highest frequency,
        rate / 2, are removed.
        """
        ...

    @staticmethod
    def QTransform(whitened: ArrayLike, rate: float, quality: float, low: float, high: float, frequencies: int = ..., times: int = ...) -> Any:
        """Normalised energy of the Q-transform (Chatterji et al., Class. Quantum Grav. 21 (2004) S1809) of a whitened series against
        time (s, x) and frequency (Hz, y, logarithmic): exponential with mean 1 in Gaussian noise. The histogram belongs to the
        caller.
        whitened: [n], as Whiten() gives it.
        quality: Q of the tiles, frequency over bandwidth.
        low: Lowest frequency in Hz.
        high: Highest frequency in Hz.
        times: Bins in time, an even number up to n; 0: as many as the highest frequency needs.
        """
        ...

    @staticmethod
    def ReadHdf5(file: _Path, dataset: _Path) -> Sequence[float]:
        """The elements of a dataset of any HDF5 file, row-major; `dataset` is its name with its groups, as in "meta/psd".
        Throws for types other than float32 and float64.
        """
        ...

    @staticmethod
    def ReadStrain(file: _Path, required: Sequence[str] = ...) -> Signal.Strain:
        """Reads an HDF5 file of the Gravitational Wave Open Science Center (https://gwosc.org). `cladtorch strain` makes trees of such
        files.

            auto h1 = Signal::ReadStrain("H-H1_LOSC_4_V2-1126259446-32.hdf5");
            auto psd = Signal::Welch(h1.fValues, 4 * h1.fRate, h1.fRate);
        required: Bits of quality and injections that a good second must have; all its samples must be finite, too.
               Empty: DATA, CBC_CAT1, CBC_CAT2, NO_CBC_HW_INJ, NO_BURST_HW_INJ, NO_DETCHAR_HW_INJ, NO_STOCH_HW_INJ.
        """
        ...

    @staticmethod
    def Ringdown(samples: int, rate: float, frequency: float, quality: float, start: float) -> Sequence[float]:
        """[samples], exp(-pi f t/Q) cos(2 pi f t) from `start` (s) on, 0 before; t counts from there.
        frequency: f in Hz.
        quality: Q, without unit.
        """
        ...

    @staticmethod
    def ScaleToSnr(strain: ArrayLike, psd: ArrayLike, rate: float, snr: float) -> Sequence[float]:
        """[n], `strain` ([n]) times the factor that makes its Snr() equal `snr`."""
        ...

    @staticmethod
    def ScatteredLight(samples: int, rate: float, frequency: float, highest: float, arrival: float) -> Sequence[float]:
        """[samples], an arch of scattered light, cos(2 pi f t) sin(F/f sin(2 pi f t)) for |t| < 1/(4 f), t counted from `arrival` (s)
        (phase: Accadia et al., Class. Quantum Grav. 27 (2010) 194011).
        frequency: f, at which the scattering surface swings, in Hz.
        highest: F, the highest fringe frequency, in Hz.
        """
        ...

    @staticmethod
    def SearchBounds(bank: Sequence[Signal.MatchedFilter], snr: float, begin: float, end: float, falseAlarms: ArrayLike, noiseWindows: int, signalWindows: int, seed: int = ...) -> Signal.Bounds:
        """The performance of the best test on windows of Gaussian noise, by Monte Carlo on all threads. A signal has the shape
        of one of the `bank`, a phase uniform on the circle and an arrival uniform over the samples from `begin` (s) to
        before `end` (s); all have the optimal SNR `snr`. The same seed gives the same figures.
        falseAlarms: Each at least 1/noiseWindows.
        """
        ...

    @staticmethod
    def SensitiveDistance(foreground: Sequence[Signal.Candidate], background: Sequence[Signal.Candidate], injections: Sequence[Signal.Injection], duration: float, rates: ArrayLike, tolerance: float = ...) -> Sequence[Signal.Sensitivity]:
        """[rates.size()], how far a search sees, as the mock-data challenge MLGWSC-1 defines it (Phys. Rev. D 107 (2023) 023021).

        An injection is found if a candidate of the foreground above the threshold is within the tolerance of it, and nearer to it than
        to any other. The sensitive volume is 4/3 pi d^3, d being the largest distance of an injection, times the mean over the injections of
        1 (found) or 0, weighted by (chirp mass/largest chirp mass)^(5/2). The injections must therefore be uniform in the
        cube of the chirp distance, d (1.22/chirp mass)^(5/6), or, with one chirp mass for all, in that of the distance.
        foreground: Candidates in strain with injections.
        background: Candidates in noise of the same kind and length, without them.
        duration: Of the background, in s.
        rates: False alarms per s, each at least 1/duration: rate * duration candidates of the background (rounded
               down) pass the threshold.
        tolerance: In s.
        """
        ...

    @staticmethod
    def SineGaussian(samples: int, rate: float, frequency: float, quality: float, arrival: float) -> Sequence[float]:
        """[samples], exp(-t^2/tau^2) cos(2 pi f t) with tau = Q/(sqrt(2) pi f) and t counted from `arrival` (s)
        (Abbott et al., Phys. Rev. D 69 (2004) 102001).
        frequency: f in Hz.
        quality: Q, without unit.
        """
        ...

    @staticmethod
    def SineGaussianFisher(psd: ArrayLike, rate: float, amplitude: float, arrival: float, phase: float, frequency: float, width: float) -> Sequence[float]:
        """[5, 5] row by row, the Fisher matrix of A exp(-t^2/tau^2) cos(2 pi f t + phi) by A, arrival, phi, f and tau in that order, t
        counting from `arrival` (s). Its inverse is the covariance of the parameters at high SNR.
        psd: [n/2 + 1], in 1/Hz.
        width: tau in s.
        """
        ...

    @staticmethod
    def Snr(strain: ArrayLike, psd: ArrayLike, rate: float) -> float:
        """Optimal signal-to-noise ratio of the waveform `strain` ([n]), rho^2 = 4 integral |h(f)|^2 / S(f) df, `psd` being
        [n/2 + 1]. It is the Euclidean norm of the whitened waveform.
        """
        ...

    @staticmethod
    def Spectrogram(strain: ArrayLike, rate: float, segment: int, stride: int) -> Any:
        """Densities in 1/Hz of Hann-windowed segments of `segment` samples every `stride` samples, against time (s, x) and frequency
        (Hz, y). The histogram belongs to the caller.
        """
        ...

    @staticmethod
    def TruncateInverse(psd: ArrayLike, rate: float, filter: int, lowest: float = ...) -> Sequence[float]:
        """[n/2 + 1], `psd` ([n/2 + 1]) changed so that whitening by it spoils `filter/2` samples at each end of a series and no more:
        the whitening filter is cut to `filter` samples (FINDCHIRP, gr-qc/0509116, sec. VII).
        lowest: In Hz: lower frequencies are taken out of the filter.
        """
        ...

    @staticmethod
    def Welch(strain: ArrayLike, segment: int, rate: float, average: Signal.EAverage = ..., window: Signal.EWindow = ...) -> Sequence[float]:
        """[segment/2 + 1], the power spectral density of `strain` (any length from `segment`) from the periodograms of windowed
        segments that overlap by half (Welch, IEEE Trans. Audio Electroacoust. 15 (1967) 70).
        window: A kTukey window rises and falls over half of its length.
        """
        ...

    @staticmethod
    def Whiten(strain: ArrayLike, psd: ArrayLike, rate: float) -> Sequence[float]:
        """[n], `strain` ([n]) divided by the amplitude spectrum of `psd` ([n/2 + 1]), without unit: Gaussian noise of that
        density becomes independent samples of variance 1. The series is taken as periodic.
        """
        ...

    @staticmethod
    def WhitenByOwn(strain: ArrayLike, rate: float, segment: int, filter: int, lowest: float = ...) -> Sequence[float]:
        """[n - filter], `strain` ([n]) whitened by its own density: the median of Welch's segments of `segment` samples, with the
        inverse spectrum truncated to `filter` samples, of which half are dropped at each end.
        lowest: In Hz: lower frequencies are taken out.
        """
        ...

    @staticmethod
    def WhitenInBlocks(strain: ArrayLike, rate: float, block: int, segment: int, filter: int, lowest: float = ...) -> Sequence[float]:
        """[n - filter], `strain` (an even number n of samples) whitened in blocks of `block` samples: each by its own density, as
        WhitenByOwn() does. Neighbouring blocks overlap by the filter, so that no sample between them is lost. Computes on all threads.
        block: Even; a shorter series is one block. Longer blocks give densities that fluctuate less but follow the
               detector later: 64 s with segments of 0.5 s is usual.
        segment: Samples of a segment of Welch's estimate.
        filter: Samples of the whitening filter, of which half are dropped at each end of the series.
        lowest: In Hz: lower frequencies are taken out.
        """
        ...

    @staticmethod
    def Window(shape: Signal.EWindow, samples: int, fraction: float = ...) -> Sequence[float]:
        """[samples], a window with period `samples`.
        fraction: Of kTukey only: share of the length that rises or falls, 0 to 1.
        """
        ...

    @staticmethod
    def WriteCandidates(file: _Path, candidates: Sequence[Signal.Candidate], tolerance: float = ...) -> None:
        """Writes an HDF5 file as MLGWSC-1's `evaluate.py` reads it, with the datasets `time`, `stat` and `var` (the tolerance, s)."""
        ...

    class Binary:
        """Two compact objects on circular orbits, spins along the orbit's axis, seen face-on.

            CladTorch::Signal::Binary source;
            source.fMass1 = 36;
            source.fMass2 = 29;
            auto strain = CladTorch::Signal::BinaryStrain(source, CladTorch::Signal::kPhenomD, 4096, 2048, 1.6);
        In Python: `Binary(fMass1=36, fMass2=29)`.

        fMass1 = 30: solar masses in the detector's frame, 0.1 to 1000; mass ratio up to 100
        fMass2 = 30: solar masses
        fSpin1 = 0: dimensionless, -1 to 1
        fSpin2 = 0: dimensionless, -1 to 1
        fDistance = 100: luminosity distance in Mpc
        fPhase = 0: in rad; a quarter turn gives the cross polarisation from the plus
        fStart = 20: lowest frequency in Hz
        """
        fMass1: float
        fMass2: float
        fSpin1: float
        fSpin2: float
        fDistance: float
        fPhase: float
        fStart: float
        def __init__(self, other: Signal.Binary = ..., *, fMass1: float = ..., fMass2: float = ..., fSpin1: float = ..., fSpin2: float = ..., fDistance: float = ..., fPhase: float = ..., fStart: float = ...) -> None: ...

    class Bounds:
        """The bounds that SearchBounds() finds.

        fBayes: of BayesStatistic(): no classifier is better
        fMaximised: of the largest SNR over arrivals and templates
        """
        fBayes: Signal.Reach
        fMaximised: Signal.Reach
        @overload
        def __init__(self) -> None: ...
        @overload
        def __init__(self, other: Signal.Bounds) -> None: ...

    class Candidate:
        """A time at which a search sees something. In Python: `Candidate(fTime=1e9, fStatistic=7)`.

        fTime = 0: s
        fStatistic = 0: what the search ranks by
        """
        fTime: float
        fStatistic: float
        def __init__(self, other: Signal.Candidate = ..., *, fTime: float = ..., fStatistic: float = ...) -> None: ...

    class CoherentSearch:
        """A search for any of several templates, at any arrival in a range, seen in any of several ways.

            auto responses = Signal::DrawResponses({"H1", "L1"}, 400);
            Signal::CoherentSearch search(bank, responses, 0.6, 0.8, 5, 15); // SNR uniform from 5 to 15
            double rank = search.Statistic(strain);                          // the two windows one behind the other
        It may be called from several threads at once.
        """
        def Loudest(self, strain: ArrayLike) -> Sequence[float]:
            """[templates], the largest network SNR of each: the root of the sum of the detectors' squares, at arrivals that they can have
            together.
            """
            ...
        def Statistic(self, strain: ArrayLike) -> float:
            """Logarithm of the likelihood ratio of such a signal to Gaussian noise, averaged over templates, arrivals, responses, phases
            and SNRs: no classifier ranks windows better (Neyman and Pearson), if bank and responses are as dense as the SNR
            can resolve.
            strain: [detectors n], a window of each detector, one after the other.
            """
            ...
        @overload
        def __init__(self, bank: Sequence[Signal.MatchedFilter], responses: Sequence[Signal.Response], begin: float, end: float, lowest: float, highest: float, step: int = ...) -> None:
            """bank: Templates, all equally likely, of one length n and one power spectral density, which is that of all detectors.
            responses: How the detectors can see a source, all equally likely; the search uses the ratios of the amplitudes.
            begin, end: Arrivals at the centre of the Earth, in s: from `begin` to before `end`, uniform.
            lowest, highest: Network SNR of the signals, in [0, 100]; uniform.
            step: Samples between the arrivals that are tried. Throws for one that loses more than 1 % of a template's power.
            """
            ...
        @overload
        def __init__(self, other: Signal.CoherentSearch) -> None: ...

    class Injection:
        """A signal that was put into strain. In Python: `Injection(fTime=1e9, fDistance=800, fChirpMass=25)`.

        fTime = 0: of the coalescence, s
        fDistance = 1: Mpc
        fChirpMass = 1: solar masses
        """
        fTime: float
        fDistance: float
        fChirpMass: float
        def __init__(self, other: Signal.Injection = ..., *, fTime: float = ..., fDistance: float = ..., fChirpMass: float = ...) -> None: ...

    class MatchedFilter:
        """A template, whitened and normalised once, for windows of its length (FINDCHIRP, gr-qc/0509116).

            Signal::MatchedFilter filter(chirp, psd, 512, 0.4); // a chirp with its coalescence at 0.4 s
            auto best = filter.Max(strain, 0.1, 0.5);
            auto series = frame.Define("snr", filter, {"strain"}); // [n] for each window
        It may be called from several threads at once.
        """
        def ComplexSeries(self, strain: ArrayLike) -> Sequence[complex]:
            """[n] to [n]: the same before the modulus is taken. The argument of a sample is how far a signal's phase is ahead of the
            template's; in noise the real and the imaginary part are normal with variance 1.
            """
            ...
        def Max(self, strain: ArrayLike, begin: float, end: float, bands: int = ...) -> Signal.Trigger:
            """The largest SNR of arrivals from `begin` (s) to before `end` (s), with the chi-squared test over `bands` frequency bands
            (Allen, Phys. Rev. D 71 (2005) 062001).
            """
            ...
        def Series(self, strain: ArrayLike) -> Sequence[float]:
            """[n] to [n]: the SNR of a signal whose reference arrives at each sample. In Gaussian noise its square is chi-squared
            with two degrees of freedom at any one sample. The series is taken as periodic.
            """
            ...
        @overload
        def __init__(self, waveform: ArrayLike, psd: ArrayLike, rate: float, reference: float = ...) -> None:
            """waveform: [n], the template.
            psd: [n/2 + 1], in 1/Hz.
            reference: Time in the template, in s after its first sample, whose arrival is sought.
            """
            ...
        @overload
        def __init__(self, other: Signal.MatchedFilter) -> None: ...

    class NetworkFilter:
        """A network that was trained on windows, slid over long series.

            Signal::NetworkFilter filter(model, 192, 2);       // a window of two detectors every 192 samples
            auto scores = filter.Scores({whiteH1, whiteL1});   // one for each window
            auto found = Signal::FindCandidates(scores, gps + 0.6, 192 / rate, 0);
        Time-invariant layers run once over long pieces of the series, as one convolution, and only what follows them
        (Flatten and Linear, or a pool over the window) runs for each window: at a stride of a tenth of the window this is
        about a tenth of the arithmetic. Scores are those of Model::Logits() within the rounding of float32. It may be
        called from several threads at once.

        Time-invariant layers are convolutions and pools without padding, batch normalisation, dropout, and element-wise
        functions. A network with any other first layer, a stride that is not a multiple of the product of the
        layers' strides, a network that standardises its features (fit with `FitOptions::fStandardise = false`) and one that LibTorch
        runs are computed window by window: Obstacle() says why.
        """
        def Arithmetic(self) -> float:
            """Number of multiplications for a long series, relative to computing each of its windows by itself."""
            ...
        def Obstacle(self) -> str:
            """Why each window is computed by itself; empty: the network slides as one convolution."""
            ...
        def Scores(self, series: Sequence[ArrayLike]) -> Sequence[float]:
            """[1 + (n - Window()) / stride, C] row-major: the logits of the windows in order of time, on all threads.
            series: n samples for each detector, whitened like the windows that the network was trained on.
            """
            ...
        def Window(self) -> int:
            """Samples of a window of one detector."""
            ...
        @overload
        def __init__(self, model: Model, stride: int, detectors: int = ...) -> None:
            """model: Takes windows [detectors, samples], for one detector [1, samples]. Later changes of it have no
                   effect.
            stride: Samples between the beginnings of two windows, up to a window.
            detectors: Number of series.
            """
            ...
        @overload
        def __init__(self, other: Signal.NetworkFilter) -> None: ...

    class OnlineSearch:
        """Whitens strain of several detectors as it arrives, and scores the last window with each block.

            Signal::OnlineSearch search(model, 2048, 2, 128, 1 << 17, 1024, 512, 18); // blocks of 1/16 s, a memory of 64 s
            while (reader.Next(gps, h1, l1))
               if (auto score = search.Add(gps, {h1, l1}); !score.empty() && score[0] > 8)
                  std::cout << "candidate before " << search.End() << std::endl;
        Each detector is whitened as by WhitenByOwn(), by the density of its last seconds. The scored window ends half a
        whitening filter before the end of the block. A gap in the times restarts the search, as does a block that is not
        finite or is constant, such as that of a detector that is off: there are no scores until memory and window are full
        again.
        """
        def Add(self, gps: float, blocks: Sequence[ArrayLike]) -> Sequence[float]:
            """[C], the logits of the last window; empty until the memory and a window are full.
            gps: Time of the first sample of the block, in s.
            blocks: For each detector the samples of one block.
            """
            ...
        def End(self) -> float:
            """End of the last window, GPS time in s."""
            ...
        def Waits(self) -> str:
            """Why the last block has no score: the detector whose strain is missing, or memory and window that are still
            filling. Empty if it has one.
            """
            ...
        @overload
        def __init__(self, model: Model, rate: float, detectors: int, block: int, memory: int, segment: int, filter: int, lowest: float = ...) -> None:
            """model: Takes windows [detectors, samples], for one detector [1, samples]. Later changes of it have no
                   effect.
            block: Samples of a block, up to half a segment.
            memory: Samples that the density is estimated from, two segments at least.
            segment: Samples of a segment of Welch's estimate.
            filter: Samples of the whitening filter, up to a segment.
            lowest: In Hz: lower frequencies are taken out.
            """
            ...
        @overload
        def __init__(self, other: Signal.OnlineSearch) -> None: ...

    class Reach:
        """The performance of a test, with standard errors.

        fAuc = 0: area under the ROC curve
        fAucError = 0: its standard error
        fEfficiencies: detection probability at each false-alarm probability asked for
        fEfficiencyErrors: their standard errors
        """
        fAuc: float
        fAucError: float
        fEfficiencies: Sequence[float]
        fEfficiencyErrors: Sequence[float]
        @overload
        def __init__(self, other: Signal.Reach) -> None: ...
        @overload
        def __init__(self) -> None: ...

    class Response:
        """How detectors see one source: the strain of detector d is Re(a h(t - delay)), a being its amplitude and h the wave's plus
        polarisation with the cross polarisation of a face-on orbit as its imaginary part. It equals |a| times
        BinaryStrain() with fPhase = arg(a) and the coalescence later by the delay. By default: one detector that sees the
        wave itself.

        fAmplitudes = {1}: [detectors], without unit
        fDelays = {0}: [detectors], s after the arrival at the centre of the Earth
        """
        fAmplitudes: Sequence[complex]
        fDelays: Sequence[float]
        def __init__(self, other: Signal.Response = ..., *, fAmplitudes: ArrayLike = ..., fDelays: ArrayLike = ...) -> None: ...

    class Sensitivity:
        """How far a search sees at a false-alarm rate.

        fRate = 0: false alarms per s
        fThreshold = 0: what candidates have to exceed
        fFraction = 0: share of the injections that are found
        fFractionError = 0: its standard error
        fDistance = 0: Mpc, radius of a sphere of the sensitive volume
        fDistanceError = 0: its standard error, of the finite number of injections
        """
        fRate: float
        fThreshold: float
        fFraction: float
        fFractionError: float
        fDistance: float
        fDistanceError: float
        @overload
        def __init__(self) -> None: ...
        @overload
        def __init__(self, other: Signal.Sensitivity) -> None: ...

    class Strain:
        """Strain of one detector, and what is known about each second of it.

        fDetector: "H1", "L1", "V1", ...
        fRate = 0: samples per second
        fStart = 0: GPS time of the first sample, in s
        fValues: [seconds fRate], without unit; NaN where there are no data
        fGood: [seconds], 1 for good seconds: see ReadStrain()
        fQuality: [seconds], bit i is set where the data pass the check fQualityBits[i]
        fInjections: [seconds], bit i is set where fInjectionBits[i] holds ("no ... injection")
        fQualityBits: names of the bits of fQuality
        fInjectionBits: names of the bits of fInjections
        """
        fDetector: str
        fRate: float
        fStart: float
        fValues: Sequence[float]
        fGood: Sequence[int]
        fQuality: Sequence[int]
        fInjections: Sequence[int]
        fQualityBits: Sequence[str]
        fInjectionBits: Sequence[str]
        @overload
        def __init__(self, other: Signal.Strain) -> None: ...
        @overload
        def __init__(self) -> None: ...

    class Trigger:
        """The highest point of an SNR series.

        fSnr = 0: modulus of the matched filter
        fTime = 0: of the template's reference, in s after the first sample of the strain
        fPhase = 0: how far the signal is ahead of the template, in rad
        fChiSquared = 0: per degree of freedom: 1 on average in Gaussian noise, with or without a signal
        """
        fSnr: float
        fTime: float
        fPhase: float
        fChiSquared: float
        @overload
        def __init__(self) -> None: ...
        @overload
        def __init__(self, other: Signal.Trigger) -> None: ...

    class Whitener:
        """Whiten() for `RDataFrame::Define`, cut to the part that the ends of the window do not affect:
        `frame.Define("whitened", Signal::Whitener(psd, rate, 64, 128), {"strain"})`. It may be called from several threads
        at once.
        """
        @overload
        def __init__(self, psd: ArrayLike, rate: float, first: int, length: int) -> None:
            """psd: [n/2 + 1], for windows of n samples.
            rate: Sampling rate in Hz.
            first: First sample kept.
            length: Samples kept.
            """
            ...
        @overload
        def __init__(self, other: Signal.Whitener) -> None: ...
        def __call__(self, strain: ArrayLike) -> Sequence[float]: ...
