"""Networks that other programs export, with what onnxruntime computes: writes `NAME.onnx`, events `NAME.x` and predictions
`NAME.y` (float32, [events, ...]) into a folder, and prints NAME, a tab and the output for each. What cannot be made here is said in
a line that begins with `#`."""

import contextlib
import io
import pathlib
import sys
import warnings

import numpy as np
import onnxruntime

warnings.filterwarnings("ignore")
EVENTS = 20
folder = pathlib.Path(sys.argv[1])
generator = np.random.default_rng(1)


ITERATED = 5e-3  # how far from the minimum libsvm and onnxruntime may stop


def write(name, x, output, expected=None):
    """`expected` are predictions towards which onnxruntime iterates."""
    session = onnxruntime.InferenceSession(str(folder / f"{name}.onnx"), providers=["CPUExecutionProvider"])
    (given,) = session.get_inputs()
    (y,) = session.run([output or session.get_outputs()[0].name], {given.name: x})
    y = expected if expected is not None and np.abs(y - expected).max() < ITERATED else y
    x.tofile(folder / f"{name}.x")
    np.ascontiguousarray(y, np.float32).tofile(folder / f"{name}.y")
    print(f"{name}\t{output}")


def of_sklearn():
    from skl2onnx import to_onnx
    from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor, RandomForestClassifier
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.neural_network import MLPClassifier, MLPRegressor
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import Normalizer, StandardScaler

    x = generator.normal(size=(200, 4)).astype(np.float32)
    value, label, three = x[:, 0] * x[:, 1] + 3, x[:, 0] > x[:, 1], (x[:, :3]).argmax(axis=1)
    for name, model, y in [
        ("mlp", MLPRegressor(hidden_layer_sizes=(8,), max_iter=20), value),
        ("mlp_pipeline", make_pipeline(StandardScaler(), MLPClassifier((8, 8), activation="tanh", max_iter=20)), label),
        ("mlp_classes", MLPClassifier((8,), activation="logistic", max_iter=20), three),
        ("linear", LinearRegression(), value),
        ("logistic", make_pipeline(Normalizer(), LogisticRegression()), three),
        ("boosted", GradientBoostingRegressor(n_estimators=20), value),
        ("boosted_classifier", GradientBoostingClassifier(n_estimators=20), label),
        ("boosted_classes", GradientBoostingClassifier(n_estimators=10), three),
        ("forest", RandomForestClassifier(n_estimators=10), three),
    ]:
        model.fit(x, y)
        options = {"zipmap": False} if hasattr(model, "predict_proba") else None
        exported = to_onnx(model, x[:1], options=options)
        (folder / f"{name}.onnx").write_bytes(exported.SerializeToString())
        write(name, generator.normal(size=(EVENTS, 4)).astype(np.float32), "probabilities" if options else "variable")


def platt(model, x):
    """Probabilities of two classes (Platt 1999, eq. 3). libsvm and onnxruntime iterate towards them until 0.0025 (Wu, Lin and Weng
    2004, algorithm 2, where the answer is known)."""
    first = 1 / (1 + np.exp(model.probB_ - model.probA_ * model.decision_function(x)))
    return np.stack([first, 1 - first], axis=1)


def coupled(model, x):
    """Probabilities of several classes: the minimum of Wu, Lin and Weng (2004, method 2) in float64."""
    classes = len(model.classes_)
    rows, columns = np.triu_indices(classes, 1)
    first = (1 / (1 + np.exp(model.probA_ * model.decision_function(x) + model.probB_))).clip(1e-7, 1 - 1e-7)
    r = np.zeros((len(x), classes, classes))
    r[:, rows, columns], r[:, columns, rows] = first, 1 - first
    q = -r * r.swapaxes(1, 2)
    q[:, range(classes), range(classes)] = (r**2).sum(axis=1)
    system = np.ones((len(x), classes + 1, classes + 1))  # Q p + b = 0, and the sum of p is 1
    system[:, :-1, :-1], system[:, -1, -1] = q, 0
    right = np.zeros((len(x), classes + 1, 1))
    right[:, -1] = 1
    return np.linalg.solve(system, right)[:, :-1, 0]


def with_gaps(x):
    """Where a fifth was not measured."""
    return np.where(generator.random(x.shape) < 0.2, np.float32(np.nan), x)


def of_tables():
    from skl2onnx import to_onnx
    from sklearn.base import is_classifier
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.linear_model import LinearRegression, LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, OrdinalEncoder, PowerTransformer
    from sklearn.svm import SVC, SVR

    x = generator.normal(size=(60, 4)).astype(np.float32)
    categories = generator.integers(0, 4, size=(60, 4)).astype(np.float32)
    value, label, gaps = x[:, 0] * x[:, 1] + 3, x[:, 0] > x[:, 1], with_gaps(x)
    three, four = x[:, :3].argmax(axis=1), x.argmax(axis=1)
    one_to_one = {"decision_function_shape": "ovo", "random_state": 1}
    machines = [(f"svr_{kernel}", SVR(kernel=kernel), x, value) for kernel in ("linear", "rbf", "poly", "sigmoid")]
    for name, model, given, y in [
        *machines,
        ("svc", SVC(probability=True, random_state=1), x, label),
        ("svc_three", SVC(probability=True, **one_to_one), x, three),
        ("svc_four", SVC(kernel="poly", probability=True, **one_to_one), x, four),
        ("svc_sums", SVC(**one_to_one), x, four),
        ("imputer", make_pipeline(SimpleImputer(), LinearRegression()), gaps, value),
        ("imputer_median", make_pipeline(SimpleImputer(strategy="median"), LogisticRegression()), gaps, label),
        ("forest_with_gaps", RandomForestClassifier(n_estimators=10), gaps, label),
        ("one_hot", make_pipeline(OneHotEncoder(handle_unknown="ignore", sparse_output=False), LinearRegression()), categories, value),
        ("ordinal", make_pipeline(OrdinalEncoder(), LinearRegression()), categories, value),
        ("bins", make_pipeline(KBinsDiscretizer(4, encode="ordinal"), LinearRegression()), x, value),
        ("power", make_pipeline(PowerTransformer(), LinearRegression()), x, value),
    ]:
        model.fit(given, y)
        options = {"zipmap": False} if is_classifier(model) else None
        (folder / f"{name}.onnx").write_bytes(to_onnx(model, x[:1], options=options).SerializeToString())
        of_pairs = {"svc": platt, "svc_three": coupled, "svc_four": coupled}.get(name)
        expected = of_pairs(model, given[:EVENTS]) if of_pairs else None
        write(name, given[:EVENTS], "probabilities" if options else "variable", expected)


def of_trees():
    import lightgbm
    import xgboost
    from onnxmltools import convert_lightgbm, convert_xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType

    x = generator.normal(size=(300, 4)).astype(np.float32)
    value, label, three = x[:, 0] * x[:, 1] + 3, (x[:, 0] > x[:, 1]).astype(int), (x[:, :3]).argmax(axis=1)
    gaps, zeros = with_gaps(x), np.where(generator.random(x.shape) < 0.3, np.float32(0), x)
    light = {"n_estimators": 8, "verbose": -1}
    for name, model, given, y in [
        ("light", lightgbm.LGBMRegressor(**light), x, value),
        ("light_with_gaps", lightgbm.LGBMRegressor(**light), gaps, value),
        ("light_with_zeros", lightgbm.LGBMRegressor(zero_as_missing=True, **light), zeros, value),
        ("light_classifier", lightgbm.LGBMClassifier(**light), gaps, label),
        ("light_classes", lightgbm.LGBMClassifier(**light), x, three),
        ("extreme", xgboost.XGBRegressor(n_estimators=8), gaps, value),
        ("extreme_logistic", xgboost.XGBRegressor(n_estimators=8, objective="reg:logistic"), x, label),
        ("extreme_classifier", xgboost.XGBClassifier(n_estimators=8), gaps, label),
        ("extreme_classes", xgboost.XGBClassifier(n_estimators=8), x, three),
    ]:
        model.fit(given, y)
        types = [("x", FloatTensorType([None, 4]))]
        is_light, classifies = name.startswith("light"), hasattr(model, "predict_proba")
        made = convert_lightgbm(model, initial_types=types, zipmap=False) if is_light else convert_xgboost(model, initial_types=types)
        (folder / f"{name}.onnx").write_bytes(made.SerializeToString())
        write(name, given[:EVENTS], "probabilities" if classifies else "variable")


def of_bayes():
    """A classifier without weights that train."""
    from skl2onnx import to_onnx
    from sklearn.naive_bayes import GaussianNB

    x = generator.normal(size=(100, 4)).astype(np.float32)
    exported = to_onnx(GaussianNB().fit(x, x[:, :3].argmax(axis=1)), x[:1], options={"zipmap": False})
    (folder / "bayes.onnx").write_bytes(exported.SerializeToString())
    write("bayes", generator.normal(size=(EVENTS, 4)).astype(np.float32), "probabilities")


def of_torch():
    import torch
    from torch import nn

    class Recurrent(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer, self.last = nn.LSTM(3, 4, batch_first=True, bidirectional=True), nn.Linear(8, 2)

        def forward(self, x):
            return self.last(self.layer(x)[0][:, -1])

    torch.manual_seed(1)
    networks = {
        "torch_mlp": ((6,), nn.Sequential(nn.Linear(6, 8), nn.BatchNorm1d(8), nn.SiLU(), nn.Dropout(), nn.Linear(8, 3), nn.Softmax(1))),
        "torch_image": (
            (1, 12, 12),
            nn.Sequential(
                *(nn.Conv2d(1, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3, stride=2, groups=2)),
                *(nn.GELU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(6, 2)),
            ),
        ),
        "torch_signal": (
            (2, 32),
            nn.Sequential(nn.Conv1d(2, 4, 5), nn.ELU(), nn.AvgPool1d(2), nn.Conv1d(4, 4, 3, dilation=2), nn.Flatten(), nn.Linear(40, 1), nn.Sigmoid()),
        ),
        "torch_lstm": ((5, 3), Recurrent()),
        "torch_transformer": (
            (5, 8),
            nn.Sequential(nn.TransformerEncoderLayer(8, 2, 16, batch_first=True), nn.Flatten(), nn.Linear(40, 2)),
        ),
    }
    for name, (shape, network) in networks.items():
        network.eval()
        x = torch.from_numpy(generator.normal(size=(EVENTS, *shape)).astype(np.float32))
        with contextlib.redirect_stdout(io.StringIO()):
            names = {"input_names": ["x"], "output_names": ["y"], "dynamic_axes": {"x": {0: "events"}}}
            torch.onnx.export(network, x[:3], folder / f"{name}.onnx", dynamo=False, **names)
        write(name, x.numpy(), "")


for make in [of_sklearn, of_tables, of_trees, of_torch, of_bayes]:
    try:
        make()
    except ImportError as error:
        print(f"# {make.__name__}: {error}")
