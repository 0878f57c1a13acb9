//! The border to C++: the only `#[cxx::bridge]`. Each function that can fail is one line through [`guard`], which turns a
//! panic or an [`Error`](crate::Error) into a `rust::Error` on the C++ side; the others only read a field.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use cxx::SharedPtr;
use ffi::LibTorchCalls;

use crate::atomic_file;
use crate::columns::file;
use crate::columns::{Rows, branch_of, described};
use crate::dataset::{Dataset, Scaler, Targets};
use crate::device::Addresses;
use crate::error::{Error, Result, guard};
use crate::gradient::libtorch::{self, Call, LibTorchModule};
use crate::gradient::{CompiledGraph, SavedForward, compile_activation};
use crate::graph::{self, Activation, AnyBatch, Captured, DType, Init, Mode, Module, Observed, Op};
use crate::interrupt;
use crate::model::{Model, Names, Network, Place, Training};
use crate::signal;
use crate::stream::{self, Epoch, Events, Feed, Mixing, Part, Stream};
use crate::text;
use crate::train::{self, StreamTrainer, Trainer, decided_options, metrics, stream_settings};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// One feature column of a dataset: `length` numbers an event (1 for a scalar).
    #[derive(Clone, Debug, PartialEq)]
    struct ColumnSpec {
        /// Name in the tree or data frame, or an expression.
        name: String,
        /// Numbers an event.
        length: usize,
        /// What fills an event that has fewer.
        pad: f32,
        /// Numbers of each inner list of a list of lists; 0: the column is no such thing.
        inner: usize,
        /// The column whose mask this is: 1 where an event has a number, 0 where the pad stands in; "": this is none.
        mask_of: String,
        /// Whether an event has exactly one number, where other columns of length 1 take the first of a list.
        scalar: bool,
    }

    /// What is wanted of a column.
    #[derive(Clone, Debug)]
    struct TargetSpec {
        /// Of the column.
        name: String,
        /// 0: features, 1: label, 2: weight.
        part: u8,
        /// Of its first number in a row of features.
        place: usize,
        /// Numbers wanted of an entry.
        wanted: usize,
        /// Stands in where an entry has fewer.
        pad: f32,
        /// Whether a list is refused.
        scalar: bool,
    }

    /// A leaf of a branch and what is wanted of it; see `Branch` in `columns`.
    #[derive(Clone, Debug)]
    struct LeafSpec {
        /// Its name is for messages.
        target: TargetSpec,
        /// Number in `Element::ALL`.
        element: u8,
        /// 0: entries of one length, 1: arrays with a count, 2: `std::vector` or `RVec`.
        shape: u8,
        /// Bytes of an entry (shape 0).
        entry_length: usize,
        /// Bytes before the leaf in an entry (shape 0).
        offset: usize,
        /// Numbers of the leaf (shape 0).
        length: usize,
    }

    /// What `FitOptions` says, enumerations as their numbers.
    #[derive(Clone, Debug, Default, PartialEq)]
    struct FitSpec {
        /// Passes over the training part.
        epochs: u32,
        /// Rows a step.
        batch_size: usize,
        /// Step size of the first epoch.
        learning_rate: f64,
        /// Number in `Schedule::ALL`.
        schedule: u8,
        /// See `Sweep::weight_decay`.
        weight_decay: f64,
        /// Of SGD.
        momentum: f64,
        /// Share of the events kept for validation, in [0, 1).
        validation: f64,
        /// Of split and shuffle.
        seed: u64,
        /// A new order of the training part each epoch.
        shuffle: bool,
        /// Features to mean 0 and standard deviation 1.
        standardise: bool,
        /// 0: as many as the machine has.
        threads: usize,
        /// `cpu`, `cuda` or `cuda:N`.
        device: String,
        /// Number in `Optimiser::ALL`.
        optimiser: u8,
        /// 0: by the number of outputs; else 1 + number in `Loss::ALL`.
        loss: u8,
        /// C++ text of a loss instead of that; may be empty.
        loss_function: String,
        /// 0: Clad, 1: LibTorch autograd.
        gradient: u8,
    }

    /// Means and standard deviations of columns; empty: there is no scaler.
    #[derive(Clone, Debug, PartialEq)]
    struct ScalerSpec {
        /// Of each column.
        mean: Vec<f64>,
        /// Of each column.
        deviation: Vec<f64>,
    }

    /// Weighted mean losses of one epoch; `validation_loss` is NaN without a validation part.
    #[derive(Clone, Debug)]
    struct EpochRecord {
        /// Over the training part, while it was trained on.
        train_loss: f64,
        /// Over the validation part, after the epoch.
        validation_loss: f64,
        /// Wall-clock time.
        seconds: f64,
    }

    /// How far an epoch has come.
    #[derive(Clone, Debug)]
    struct EpochPart {
        /// Events that it has trained on.
        rows: u64,
        /// Events that it will have trained on at its end; an estimate for streams.
        expected: u64,
        /// Whether nothing is left to train on.
        ended: bool,
    }

    /// Efficiencies over falling thresholds, from (0, 0) to (1, 1), with the area under the whole curve. Points may have
    /// been left out; see `metrics::thin`.
    #[derive(Clone, Debug)]
    struct RocCurve {
        /// Background efficiency.
        false_positive: Vec<f64>,
        /// Signal efficiency.
        true_positive: Vec<f64>,
        /// Area under the curve.
        auc: f64,
        /// Standard error of `auc` (DeLong, DeLong and Clarke-Pearson 1988).
        auc_error: f64,
    }

    /// A tensor that an observed function takes, makes or returns.
    #[derive(Clone, Debug, PartialEq)]
    struct ObservedValue {
        /// As in the user's code where that is known, else empty.
        name: String,
        /// Number in `DType::ALL`: float32, float64, int64, bool.
        dtype: u8,
        /// Elements along each dimension.
        shape: Vec<i64>,
        /// Elements between neighbours along each dimension.
        strides: Vec<i64>,
    }

    /// One argument of an operator, by its kind.
    #[derive(Clone, Debug, PartialEq)]
    struct ObservedArgument {
        /// 0 none, 1 value, 2 integer, 3 float, 4 bool, 5 integers, 6 string, 7 values, 8 floats, 9 bools.
        kind: u8,
        /// Of kinds 1 (index into `ObservedGraph::values`), 2 and 4 (0 or 1).
        value: i64,
        /// Of kind 3.
        number: f64,
        /// Of kinds 5, 7 (indices into `ObservedGraph::values`; -1 for an absent one) and 9.
        list: Vec<i64>,
        /// Of kind 8.
        numbers: Vec<f64>,
        /// Of kind 6.
        text: String,
    }

    /// One call of a LibTorch operator.
    #[derive(Clone, Debug, PartialEq)]
    struct ObservedNode {
        /// With its namespace: `aten::matmul`.
        op: String,
        /// Of its schema: `dim_IntList`; empty for the default.
        overload: String,
        /// By position in the schema, defaults filled in.
        arguments: Vec<ObservedArgument>,
        /// Indices into `ObservedGraph::values`.
        outputs: Vec<u32>,
        /// Where in the user's code, for messages; may be empty.
        place: String,
    }

    /// What LibTorch was seen doing, in order. Numbers are indices into `values`.
    #[derive(Clone, Debug, PartialEq)]
    struct ObservedGraph {
        /// Every tensor.
        values: Vec<ObservedValue>,
        /// In the order of execution.
        nodes: Vec<ObservedNode>,
        /// The function's arguments.
        inputs: Vec<u32>,
        /// The function's results.
        outputs: Vec<u32>,
        /// Tensors that the function captured: further arguments, after `inputs`.
        constants: Vec<u32>,
    }

    /// How much of a graph is work for kernels.
    #[derive(Clone, Debug)]
    struct GraphWork {
        /// Kernels that run; an operator that only looks differently at a tensor needs none.
        steps: usize,
        /// Random factors that a call draws.
        draws: usize,
    }

    /// What `CompileOptions` says, enumerations as their numbers.
    #[derive(Clone, Debug)]
    struct CompileSpec {
        /// Of the user's function, for messages and generated code.
        name: String,
        /// 0: aot; 1 + number in `BackEnd::ALL` (aot, jit): that one, and failing is an error; 4: jit, else aot.
        back_end: u8,
        /// Why that one, where the caller chose it for the user; else empty.
        reason: String,
        /// Whether a gradient is wanted, for each of inputs and constants.
        gradients: Vec<bool>,
        /// Seconds that compiling may take.
        time_limit: f64,
    }

    /// Random factors that the caller draws for each forward call, with
    /// `empty(shape).bernoulli_(keep).div_(keep)`, in this order, so that a seed means what it means in LibTorch.
    #[derive(Clone, Debug, PartialEq)]
    struct NoiseSpec {
        /// Number in `DType::ALL`.
        dtype: u8,
        /// Contiguous.
        shape: Vec<i64>,
        /// Probability that an element is not 0.
        keep: f64,
    }

    /// What a compiled graph takes and returns beyond the arguments that it was observed with.
    #[derive(Clone, Debug, PartialEq)]
    struct CompiledSignature {
        /// As in [`ObservedValue`]: of every number that is computed, gradients included.
        dtype: u8,
        /// The user's results, then one for each of `updates`; contiguous, made by the caller.
        outputs: Vec<ObservedValue>,
        /// Arguments after inputs and constants.
        noise: Vec<NoiseSpec>,
        /// Arguments (of inputs, then constants) that LibTorch changes in place (running statistics): the caller
        /// copies the last outputs into them after each forward call.
        updates: Vec<u32>,
    }

    /// How a module was observed in one mode.
    #[derive(Clone, Debug)]
    struct ModeSpec {
        /// With a single row; empty where the function does not take one.
        one: Vec<ObservedGraph>,
        /// Why it does not.
        why_not_one: String,
        /// For each constant of the observation the number of the captured tensor.
        constants: Vec<usize>,
    }

    /// A module or function that becomes a model.
    #[derive(Clone, Debug)]
    struct NetworkSpec {
        /// For people.
        name: String,
        /// Of one event.
        shape: Vec<usize>,
        /// Elements that it gives for an event.
        outputs: usize,
        /// Whether it trains on a single event.
        trains_one: bool,
        /// Whether it evaluates a single event.
        evaluates_one: bool,
        /// The activation behind which its outputs are no logits; empty: there is none.
        last_activation: String,
    }

    /// The tensors of a network that LibTorch runs, dense.
    #[derive(Clone, Debug)]
    struct TensorsSpec {
        /// "0.weight"; "" where one has no name.
        paths: Vec<String>,
        /// Where each of them lies in what follows.
        places: Vec<PlaceSpec>,
        /// The flat vector of parameters.
        parameters: Vec<f32>,
        /// That of state.
        state: Vec<f32>,
    }

    /// What a network was observed to do.
    #[derive(Clone, Debug)]
    struct ModuleSpec {
        /// Its captured tensors.
        captured: Vec<CapturedSpec>,
        /// As it trains.
        training: ModeSpec,
        /// As it predicts.
        evaluation: ModeSpec,
    }

    /// A tensor that a module or function captured.
    #[derive(Clone, Debug)]
    struct CapturedSpec {
        /// Whether it trains.
        is_parameter: bool,
        /// "0.weight"; empty where it has no name.
        path: String,
        /// The part of the module that it belongs to, "0 (Linear)"; empty for the module itself.
        part: String,
    }

    /// Where a captured tensor of a module lies in its model.
    #[derive(Clone, Debug)]
    struct PlaceSpec {
        /// 0: in the parameters, 1: in the state, 2: nowhere, it stays as it is.
        kind: u8,
        /// From this number on.
        start: usize,
    }

    /// How the events of a stream are mixed and read ahead.
    #[derive(Clone, Debug)]
    struct StreamSpec {
        /// Entries of a window; 0: as many as 64 MB hold, at most 65536.
        window: u64,
        /// Entries read ahead; 0: as many as a window.
        buffer: u64,
        /// All sources give as many entries as the largest.
        balanced: bool,
    }

    /// Neighbouring entries of one source of a stream.
    #[derive(Clone, Debug)]
    struct BlockSpec {
        /// Number of the source.
        source: usize,
        /// Its first entry.
        first: u64,
        /// How many.
        entries: u64,
        /// The first entry of those that are best read together with it.
        together_first: u64,
        /// The one behind the last of them.
        together_end: u64,
        /// Whether its events are copied out of those: the others do not come soon.
        copied: bool,
    }

    /// Events that are trained on together.
    #[derive(Clone, Debug, Default)]
    struct Batch {
        /// [rows, width]
        features: Vec<f32>,
        /// [rows, targets]
        labels: Vec<f32>,
        /// [rows]
        weights: Vec<f32>,
    }

    #[namespace = "CladTorch::Internal"]
    unsafe extern "C++" {
        include!("LibTorchCalls.hxx");

        /// A module of LibTorch's, for the core to run.
        type LibTorchCalls;

        #[cxx_name = "Begin"]
        fn begin(self: &LibTorchCalls, threads: usize);
        #[cxx_name = "Forward"]
        #[allow(clippy::too_many_arguments)]
        fn forward(
            self: &LibTorchCalls,
            training: bool,
            seed: u64,
            step: u64,
            x: &[f32],
            parameters: &[f32],
            state: &mut [f32],
            outputs: &mut [f32],
        ) -> Result<()>;
        #[cxx_name = "Backward"]
        fn backward(self: &LibTorchCalls, adjoint: &[f32], gradient: &mut [f32]) -> Result<()>;
        #[cxx_name = "End"]
        fn end(self: &LibTorchCalls);
    }

    extern "Rust" {
        /// Ends compilers and predictions that run, and those that start, for the whole process; `false` lets them run
        /// again. Safe in a signal handler.
        fn interrupt_request(on: bool);
        /// Threads that this process may run at once.
        fn cores() -> usize;

        type AtomicFile;
        /// A file that is to stand at `path`; gone without a trace unless it is published.
        fn file_new(path: &str) -> Result<Box<AtomicFile>>;
        /// Where it is written until then.
        fn file_path(file: &AtomicFile) -> Result<String>;
        fn file_publish(file: Box<AtomicFile>) -> Result<()>;

        /// A name (of a column, a tree, a file; UTF-8 or not) on one line, without what would steer a terminal.
        fn text_name(name: &[u8]) -> String;
        /// The same for a message, whose lines stay.
        fn text_message(message: &[u8]) -> String;

        type Stream;
        fn stream_new(columns: &Vec<ColumnSpec>) -> Result<Box<Stream>>;
        /// A source of the entries up to the last of `cluster_ends`, which rise; `targets` as for `dataset_begin`.
        fn stream_add(stream: &mut Stream, name: &str, targets: &Vec<String>, cluster_ends: &[u64]) -> Result<()>;
        fn stream_columns(stream: &Stream) -> Vec<ColumnSpec>;
        fn stream_targets(stream: &Stream) -> Vec<String>;
        fn stream_width(stream: &Stream) -> usize;
        fn stream_entries(stream: &Stream) -> u64;
        /// An error if a window cannot have so many entries.
        fn stream_check_window(entries: u64) -> Result<()>;
        /// Epoch `number` of the events for training, or of those for validation; 0: a sample. Its feed has to be served.
        fn stream_epoch(
            stream: &Stream,
            number: u64,
            validation: bool,
            how: &StreamSpec,
            fit: &FitSpec,
        ) -> Result<Box<Epoch>>;

        type Epoch;
        /// Makes `batch` the next one; without rows at the end. Waits for the feed.
        fn epoch_batch(epoch: &mut Epoch, batch: &mut Batch) -> Result<()>;
        fn epoch_feed(epoch: &Epoch) -> Box<FeedHandle>;

        /// For the reading thread; everything may be called beside the epoch's own functions.
        type FeedHandle;
        /// Waits for room; `false`: nothing more is wanted.
        fn feed_want(feed: &FeedHandle, block: &mut BlockSpec) -> bool;
        /// An empty dataset for up to `rows` rows.
        fn feed_dataset(feed: &FeedHandle, rows: u64) -> Result<Box<Dataset>>;
        /// The events of `block`, or more than those.
        fn feed_deliver(feed: &FeedHandle, block: &BlockSpec, events: &SharedEvents) -> Result<()>;
        fn feed_fail(feed: &FeedHandle, reason: &str);
        fn feed_close(feed: &FeedHandle);

        /// Events that the reading thread may keep beside those that it delivered them to.
        type SharedEvents;
        /// The rows of `data` come from all entries from `first` on, before `end`.
        fn events_all(first: u64, end: u64, data: Box<Dataset>) -> Result<Box<SharedEvents>>;
        /// The rows of `data` come from `entries`: those from `first` on, before `end`, that passed the cut.
        fn events_new(first: u64, end: u64, entries: &[u64], data: Box<Dataset>) -> Result<Box<SharedEvents>>;
        /// The same events.
        fn events_shared(events: &SharedEvents) -> Box<SharedEvents>;
        /// A copy of the events of the entries from `first` on, before `end`.
        fn events_part(events: &SharedEvents, first: u64, end: u64) -> Result<Box<SharedEvents>>;

        type StreamTrainer;
        /// `sample` is epoch 0 with the same settings.
        fn stream_trainer_new(
            model: &Model,
            stream: &Stream,
            spec: &FitSpec,
            sample: &mut Epoch,
        ) -> Result<Box<StreamTrainer>>;
        /// Trains on the next window of `epoch`.
        fn stream_trainer_window(trainer: &mut StreamTrainer, model: &Model, epoch: &mut Epoch) -> Result<EpochPart>;
        fn stream_trainer_end_epoch(trainer: &mut StreamTrainer) -> Result<EpochRecord>;
        fn stream_trainer_finish(trainer: &StreamTrainer, model: &mut Model) -> Result<()>;
        fn stream_trainer_describe(trainer: &StreamTrainer) -> String;
        fn stream_trainer_warnings(trainer: &mut StreamTrainer) -> Vec<String>;
    }

    extern "Rust" {
        /// A function for any number of rows; see `AnyBatch` in `graph`.
        type AnyBatch;
        /// From observations with `rows`, `rows + 1` and `other_rows` rows.
        fn any_batch_new(
            first: &ObservedGraph,
            second: &ObservedGraph,
            rows: i64,
            other: &ObservedGraph,
            other_rows: i64,
            remedy: &str,
        ) -> Result<Box<AnyBatch>>;
        /// The function as it would be observed with `rows` rows.
        fn any_batch_at(batch: &AnyBatch, rows: i64) -> Result<ObservedGraph>;

        type CompiledGraph;
        /// What one forward call keeps for backward calls. Dropping it gives its memory back to the graph's pool.
        type SavedForward;
        /// Why kernels never run the operator, given with its namespace; empty where they may.
        fn operator_obstacle(op: &str) -> String;
        /// What kernels make of a graph. Fails, naming operator and place, where no back end but LibTorch itself supports it.
        fn graph_work(graph: &ObservedGraph) -> Result<GraphWork>;
        /// Fails as `graph_work` does.
        fn compiled_new(graph: &ObservedGraph, spec: &CompileSpec) -> Result<Box<CompiledGraph>>;
        fn compiled_signature(graph: &CompiledGraph) -> CompiledSignature;
        /// Operators, shapes, arena, back end, and why, for people.
        fn compiled_describe(graph: &CompiledGraph) -> String;
        /// The function that `jit` emitted, and Clad's derivative of it; empty with another back end.
        fn compiled_text(graph: &CompiledGraph) -> String;
        /// `aot` or `jit`.
        fn compiled_back_end(graph: &CompiledGraph) -> String;
        /// What kept the fastest back end from running, where it was asked for; else empty.
        fn compiled_obstacle(graph: &CompiledGraph) -> String;
        /// Runs the graph and keeps nothing. `inputs` are the addresses of inputs, constants and noise, each of the
        /// dtype, shape and strides of its observation; `outputs` those of the signature's outputs. Safe from several
        /// threads at once.
        ///
        /// # Safety
        /// The addresses are those of tensors as described, in host memory; outputs overlap nothing else.
        unsafe fn compiled_infer(graph: &CompiledGraph, inputs: &[usize], outputs: &[usize]) -> Result<()>;
        /// As `compiled_infer`, and keeps what `compiled_backward` needs.
        ///
        /// # Safety
        /// As for `compiled_infer`.
        unsafe fn compiled_forward(
            graph: &CompiledGraph,
            inputs: &[usize],
            outputs: &[usize],
        ) -> Result<Box<SavedForward>>;
        /// Writes the gradient of `sum over user's outputs of adjoint * output`. `inputs` are those of the forward call,
        /// unchanged since; `adjoints` [user's outputs] contiguous, 0 for one that is zero; `gradients`
        /// [inputs and constants] contiguous, of the signature's dtype, 0 where none was asked for in the spec. May be
        /// called again with the same `saved`, also from several threads at once.
        ///
        /// # Safety
        /// As for `compiled_infer`; gradients overlap nothing else.
        unsafe fn compiled_backward(
            graph: &CompiledGraph,
            saved: &SavedForward,
            inputs: &[usize],
            adjoints: &[usize],
            gradients: &[usize],
        ) -> Result<()>;

        type Dataset;
        fn dataset_new(columns: &Vec<ColumnSpec>) -> Result<Box<Dataset>>;
        fn dataset_columns(data: &Dataset) -> Vec<ColumnSpec>;
        fn dataset_rows(data: &Dataset) -> usize;
        /// Numbers in a row: the sum of the columns' lengths.
        fn dataset_width(data: &Dataset) -> usize;
        /// Opens a source; what follows until `dataset_commit` is dropped by `dataset_rollback`. `targets` are the label
        /// columns; empty: the label is a number.
        fn dataset_begin(data: &mut Dataset, source: &str, targets: &Vec<String>) -> Result<()>;
        /// Label columns of the committed sources; empty if labels are numbers, or come from columns of different names.
        fn dataset_targets(data: &Dataset) -> Vec<String>;
        /// Numbers in a label, including that of the open source.
        fn dataset_label_width(data: &Dataset) -> usize;
        /// Appends `weights.len()` rows; `features` is [rows, width], `labels` [rows, label width].
        fn dataset_append(data: &mut Dataset, features: &[f32], labels: &[f32], weights: &[f32]) -> Result<()>;
        /// Rows for `dataset_fill`, of this label and the weight 1.
        fn dataset_append_empty(data: &mut Dataset, rows: usize, label: f32) -> Result<()>;
        fn dataset_commit(data: &mut Dataset) -> Result<()>;
        fn dataset_rollback(data: &mut Dataset);
        /// [rows, width], valid until the dataset changes.
        fn dataset_features(data: &Dataset) -> &[f32];
        /// [rows, label width]
        fn dataset_labels(data: &Dataset) -> Result<&[f32]>;
        fn dataset_weights(data: &Dataset) -> Result<&[f32]>;
        /// A seeded share of the rows, `first` of [0, 1]; `second` gives the rest instead.
        fn dataset_part(data: &Dataset, first: f64, seed: u64, second: bool) -> Result<Box<Dataset>>;
        fn dataset_clone(data: &Dataset) -> Result<Box<Dataset>>;
        /// Scales the weights: all labels weigh the same, the total stays.
        fn dataset_balance(data: &mut Dataset) -> Result<()>;
        fn dataset_describe(data: &Dataset) -> String;

        type TreeFile;
        /// A local file whose tree has `entries` entries.
        fn tree_file_new(path: &str, entries: u64) -> Result<Box<TreeFile>>;
        /// The tree `tree` of a local file with the columns `targets`, without ROOT; an error where only ROOT can say what
        /// they are.
        fn tree_file_described(path: &str, tree: &str, targets: &Vec<TargetSpec>) -> Result<Box<TreeFile>>;
        fn tree_file_entries(file: &TreeFile) -> u64;
        /// Adds a column, with the position, size and first entry of each basket.
        fn tree_file_add(
            file: &mut TreeFile,
            leaf: &LeafSpec,
            seeks: &[i64],
            bytes: &[i32],
            firsts: &[i64],
        ) -> Result<()>;
        /// Makes room for exactly `rows` more rows.
        fn dataset_reserve(data: &mut Dataset, rows: usize) -> Result<()>;
        /// Appends all entries of `file`, read by the fast reader; `label` where no column gives it. `threads` 0: all.
        fn dataset_read(data: &mut Dataset, file: &TreeFile, label: f32, threads: usize) -> Result<()>;
        /// Fills the columns of `file` in the rows of the open source from `first` on, which come from `entries` of the
        /// file, in rising order.
        fn dataset_fill(
            data: &mut Dataset,
            file: &TreeFile,
            entries: &[u64],
            first: usize,
            threads: usize,
        ) -> Result<()>;
        /// The same with the entries from `begin` on, before `end`.
        fn dataset_fill_between(
            data: &mut Dataset,
            file: &TreeFile,
            begin: u64,
            end: u64,
            first: usize,
            threads: usize,
        ) -> Result<()>;
        /// Adds lines to what `dataset_describe` says of the open source.
        fn dataset_note(data: &mut Dataset, lines: &str) -> Result<()>;

        type Model;
        fn model_new(sizes: &[usize], activation: u8, init: u8, seed: u64) -> Result<Box<Model>>;
        /// The same with C++ text of an activation, which is compiled.
        fn model_new_own(sizes: &[usize], activation: &str, init: u8, seed: u64) -> Result<Box<Model>>;
        /// A model of an observed network, run by Clad's derivatives or, where an operator has no kernel, by LibTorch.
        /// `captured` are the addresses of the captured tensors, which are copied; `tensors` are those for LibTorch.
        ///
        /// # Safety
        /// The tensors lie there, in host memory, with the types, shapes and strides of the observations.
        unsafe fn model_of_module(
            network: &NetworkSpec,
            calls: SharedPtr<LibTorchCalls>,
            tensors: &TensorsSpec,
            observed: &ModuleSpec,
            training: Box<AnyBatch>,
            evaluation: Box<AnyBatch>,
            captured: &[usize],
        ) -> Result<Box<Model>>;
        /// A model that LibTorch runs, and why.
        fn model_on_libtorch(
            network: &NetworkSpec,
            calls: SharedPtr<LibTorchCalls>,
            tensors: &TensorsSpec,
            why: &str,
        ) -> Result<Box<Model>>;
        /// The text of the error that `what` makes the events of a batch depend on each other.
        fn events_mix(what: &str) -> String;
        /// Whether it has derivatives by Clad.
        fn model_has_kernels(model: &Model) -> bool;
        /// Refuses a model of a network that mixes the events `x` [_, inputs] in evaluation.
        fn model_check_apart(model: &Model, x: &[f32]) -> Result<()>;
        /// For each captured tensor; none where LibTorch runs it.
        fn model_places(model: &Model) -> Vec<PlaceSpec>;
        /// Running statistics.
        fn model_state(model: &Model) -> &[f32];
        /// Batches that fits trained on.
        fn model_batches(model: &Model) -> u64;
        /// `activation` is the text of the model's own; empty: it has none.
        fn model_load(path: &str, activation: &str) -> Result<Box<Model>>;
        fn model_save(model: &Model, path: &str) -> Result<()>;
        fn model_clone(model: &Model) -> Result<Box<Model>>;
        fn freeze(self: &mut Model);
        fn model_columns(model: &Model) -> Vec<ColumnSpec>;
        fn model_targets(model: &Model) -> Vec<String>;
        fn model_inputs(model: &Model) -> usize;
        fn model_outputs(model: &Model) -> usize;
        fn model_describe(model: &Model) -> String;
        fn model_parameters(model: &Model) -> &[f32];
        fn model_set_parameters(model: &mut Model, values: &[f32]) -> Result<()>;
        fn model_scaler(model: &Model) -> ScalerSpec;
        /// Empty: the features are taken as they are.
        fn model_set_scaler(model: &mut Model, mean: &[f64], deviation: &[f64]) -> Result<()>;
        fn model_target_scaler(model: &Model) -> ScalerSpec;
        /// Empty: the outputs are values as they are.
        fn model_set_target_scaler(model: &mut Model, mean: &[f64], deviation: &[f64]) -> Result<()>;
        fn model_set_columns(model: &mut Model, columns: &Vec<ColumnSpec>) -> Result<()>;
        /// Of the last fit.
        fn model_options(model: &Model) -> Result<FitSpec>;
        fn model_set_options(model: &mut Model, spec: &FitSpec) -> Result<()>;
        /// `out` is [rows, outputs]; `raw` gives logits instead of probabilities. `threads` 0: all.
        fn model_predict(model: &Model, data: &Dataset, raw: bool, threads: usize, out: &mut [f32]) -> Result<()>;
        /// One event; safe from several threads at once, no allocation after a thread's first call.
        fn model_score(model: &Model, features: &[f32], raw: bool, out: &mut [f32]) -> Result<()>;

        type Trainer;
        /// Checks the options, learns the scalers on the training part and lays out the arena.
        fn trainer_new(model: &Model, data: &Dataset, spec: &FitSpec) -> Result<Box<Trainer>>;
        /// Trains on the next part of an epoch.
        fn trainer_part(trainer: &mut Trainer, data: &Dataset) -> Result<EpochPart>;
        /// After the last part: one pass over the validation part.
        fn trainer_end_epoch(trainer: &mut Trainer, data: &Dataset) -> Result<EpochRecord>;
        /// Puts weights, scalers, columns and options into `model`.
        fn trainer_finish(trainer: &Trainer, model: &mut Model) -> Result<()>;
        /// Which gradient back end runs, on which device and threads, and why.
        fn trainer_describe(trainer: &Trainer) -> String;
        /// An error if `value` is none for the option `name`, fEpochs, fBatchSize or fThreads.
        fn fit_check_count(name: &str, value: i64) -> Result<()>;
        /// The least `fVerbose` with which a fit says that.
        fn verbosity_of_back_end(spec: &FitSpec, model: &Model) -> Result<i32>;
        /// What is allowed and rarely meant, each said once.
        fn trainer_warnings(trainer: &mut Trainer) -> Vec<String>;

        /// `labels` over 0.5 are signal; the curve is thinned for drawing.
        fn roc(scores: &[f32], labels: &[f32], weights: &[f32]) -> Result<RocCurve>;
        /// For tests: panics inside the core, to show that it arrives as an exception.
        fn provoke_panic() -> Result<()>;

        /// One-sided power spectral density [samples / 2 + 1], 1/Hz.
        fn signal_detector_psd(samples: usize, rate: f64) -> Result<Vec<f64>>;
        fn signal_welch(strain: &[f64], segment: usize, rate: f64) -> Result<Vec<f64>>;
        /// [2 (psd.len() - 1)]
        fn signal_noise(psd: &[f64], rate: f64, seed: u64) -> Result<Vec<f64>>;
        fn signal_whiten(strain: &[f64], psd: &[f64], rate: f64) -> Result<Vec<f64>>;
        fn signal_chirp(samples: usize, rate: f64, chirp_mass: f64, start: f64, coalescence: f64) -> Result<Vec<f64>>;
        fn signal_sine_gaussian(
            samples: usize,
            rate: f64,
            frequency: f64,
            quality: f64,
            arrival: f64,
        ) -> Result<Vec<f64>>;
        fn signal_phase_shift(strain: &[f64], phase: f64) -> Result<Vec<f64>>;
        fn signal_snr(strain: &[f64], psd: &[f64], rate: f64) -> Result<f64>;
        fn signal_scale_to_snr(strain: &[f64], psd: &[f64], rate: f64, snr: f64) -> Result<Vec<f64>>;
        fn signal_auc_bound(snr: f64, known_phase: bool) -> Result<f64>;
        fn signal_efficiency_bound(snr: f64, false_alarm: f64, known_phase: bool) -> Result<f64>;
    }
}

pub use ffi::{
    Batch, BlockSpec, CapturedSpec, ColumnSpec, CompileSpec, CompiledSignature, EpochPart, EpochRecord, FitSpec,
    GraphWork, LeafSpec, ModeSpec, ModuleSpec, NetworkSpec, NoiseSpec, ObservedArgument, ObservedGraph, ObservedNode,
    ObservedValue, PlaceSpec, RocCurve, ScalerSpec, StreamSpec, TargetSpec, TensorsSpec,
};

fn interrupt_request(on: bool) {
    interrupt::request(on);
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

fn any_batch_new(
    first: &ObservedGraph,
    second: &ObservedGraph,
    rows: i64,
    other: &ObservedGraph,
    other_rows: i64,
    remedy: &str,
) -> Result<Box<AnyBatch>> {
    guard(|| AnyBatch::new([first.clone(), second.clone()], rows, other, other_rows, remedy).map(Box::new))
}

fn any_batch_at(batch: &AnyBatch, rows: i64) -> Result<ObservedGraph> {
    guard(|| batch.at(rows))
}

fn operator_obstacle(op: &str) -> String {
    graph::lower::obstacle(op).unwrap_or_default()
}

fn graph_work(graph: &ObservedGraph) -> Result<GraphWork> {
    guard(|| graph::lower::weigh(graph))
}

fn compiled_new(graph: &ObservedGraph, spec: &CompileSpec) -> Result<Box<CompiledGraph>> {
    guard(|| CompiledGraph::new(graph, spec).map(Box::new))
}

fn compiled_signature(graph: &CompiledGraph) -> CompiledSignature {
    graph.signature()
}

fn compiled_describe(graph: &CompiledGraph) -> String {
    graph.describe()
}

fn compiled_text(graph: &CompiledGraph) -> String {
    graph.text().to_owned()
}

fn compiled_obstacle(graph: &CompiledGraph) -> String {
    graph.obstacle().to_owned()
}

fn compiled_back_end(graph: &CompiledGraph) -> String {
    graph.back_end().name().to_owned()
}

unsafe fn compiled_infer(graph: &CompiledGraph, inputs: &[usize], outputs: &[usize]) -> Result<()> {
    // SAFETY: the caller's promise is passed on.
    guard(|| unsafe { graph.infer(inputs, outputs) })
}

unsafe fn compiled_forward(graph: &CompiledGraph, inputs: &[usize], outputs: &[usize]) -> Result<Box<SavedForward>> {
    // SAFETY: the caller's promise is passed on.
    guard(|| unsafe { graph.forward(inputs, outputs) }.map(Box::new))
}

unsafe fn compiled_backward(
    graph: &CompiledGraph,
    saved: &SavedForward,
    inputs: &[usize],
    adjoints: &[usize],
    gradients: &[usize],
) -> Result<()> {
    // SAFETY: the caller's promise is passed on.
    guard(|| unsafe { graph.backward(saved, inputs, adjoints, gradients) })
}

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn dataset_new(columns: &Vec<ColumnSpec>) -> Result<Box<Dataset>> {
    guard(|| Dataset::new(columns).map(Box::new))
}

fn dataset_columns(data: &Dataset) -> Vec<ColumnSpec> {
    data.columns().to_vec()
}

fn dataset_rows(data: &Dataset) -> usize {
    data.rows()
}

fn dataset_width(data: &Dataset) -> usize {
    data.width()
}

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn dataset_begin(data: &mut Dataset, source: &str, targets: &Vec<String>) -> Result<()> {
    guard(|| data.begin_with(source, &Targets::new(targets)?))
}

fn dataset_targets(data: &Dataset) -> Vec<String> {
    data.targets().names().to_vec()
}

fn dataset_label_width(data: &Dataset) -> usize {
    data.label_width()
}

fn dataset_append(data: &mut Dataset, features: &[f32], labels: &[f32], weights: &[f32]) -> Result<()> {
    guard(|| data.append(features, labels, weights))
}

fn dataset_append_empty(data: &mut Dataset, rows: usize, label: f32) -> Result<()> {
    guard(|| data.append_empty(rows, label))
}

fn dataset_commit(data: &mut Dataset) -> Result<()> {
    guard(|| data.commit())
}

fn dataset_rollback(data: &mut Dataset) {
    data.rollback();
}

fn dataset_features(data: &Dataset) -> &[f32] {
    data.features()
}

fn dataset_labels(data: &Dataset) -> Result<&[f32]> {
    guard(|| data.labels())
}

fn dataset_weights(data: &Dataset) -> Result<&[f32]> {
    guard(|| data.weights())
}

fn dataset_part(data: &Dataset, first: f64, seed: u64, second: bool) -> Result<Box<Dataset>> {
    guard(|| data.part(first, seed, second).map(Box::new))
}

fn dataset_clone(data: &Dataset) -> Result<Box<Dataset>> {
    guard(|| data.copy().map(Box::new))
}

fn dataset_balance(data: &mut Dataset) -> Result<()> {
    guard(|| data.balance())
}

fn dataset_describe(data: &Dataset) -> String {
    data.describe()
}

fn tree_file_new(path: &str, entries: u64) -> Result<Box<TreeFile>> {
    guard(|| Ok(Box::new(TreeFile(file::TreeFile::new(path, entries)?))))
}

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn tree_file_described(path: &str, tree: &str, targets: &Vec<TargetSpec>) -> Result<Box<TreeFile>> {
    guard(|| Ok(Box::new(TreeFile(described(Path::new(path), tree, targets)?))))
}

fn tree_file_entries(file: &TreeFile) -> u64 {
    file.0.entries()
}

fn tree_file_add(file: &mut TreeFile, leaf: &LeafSpec, seeks: &[i64], bytes: &[i32], firsts: &[i64]) -> Result<()> {
    guard(|| file.0.add(branch_of(leaf)?, seeks, bytes, firsts))
}

fn dataset_reserve(data: &mut Dataset, rows: usize) -> Result<()> {
    guard(|| data.reserve(rows))
}

fn dataset_read(data: &mut Dataset, file: &TreeFile, label: f32, threads: usize) -> Result<()> {
    guard(|| data.read(&file.0, label, threads))
}

fn dataset_fill(data: &mut Dataset, file: &TreeFile, entries: &[u64], first: usize, threads: usize) -> Result<()> {
    guard(|| data.fill(&file.0, Rows::Some(entries), first, threads))
}

fn dataset_fill_between(
    data: &mut Dataset,
    file: &TreeFile,
    begin: u64,
    end: u64,
    first: usize,
    threads: usize,
) -> Result<()> {
    guard(|| data.fill(&file.0, Rows::Between(begin, end), first, threads))
}

fn dataset_note(data: &mut Dataset, lines: &str) -> Result<()> {
    guard(|| data.note(lines))
}

/// How long compiling a user's activation may take.
const COMPILE_LIMIT: Duration = Duration::from_secs(60);

fn unknown_number(what: &str, number: u8) -> Error {
    Error::invalid(format!("{what} {number} is unknown"), "use a named constant")
}

fn initialisation(number: u8) -> Result<Init> {
    Init::from_number(number).ok_or_else(|| unknown_number("initialisation", number))
}

fn model_new(sizes: &[usize], activation: u8, init: u8, seed: u64) -> Result<Box<Model>> {
    guard(|| {
        let known = Activation::from_number(activation).ok_or_else(|| unknown_number("activation", activation))?;
        Model::new(sizes, known, initialisation(init)?, seed).map(Box::new)
    })
}

fn model_new_own(sizes: &[usize], activation: &str, init: u8, seed: u64) -> Result<Box<Model>> {
    guard(|| {
        let own = Op::Own(compile_activation(activation, COMPILE_LIMIT)?);
        Model::new(sizes, own, initialisation(init)?, seed).map(Box::new)
    })
}

// SAFETY: a module's calls come one at a time (between `Begin` and `End`), from any thread; LibTorch's tensors allow that.
unsafe impl Send for LibTorchCalls {}
// SAFETY: the same.
unsafe impl Sync for LibTorchCalls {}

/// C++ that runs a module.
struct Called(SharedPtr<LibTorchCalls>);

impl libtorch::LibTorchCalls for Called {
    fn begin(&self, threads: usize) {
        self.0.begin(threads);
    }

    fn forward(&self, call: Call, x: &[f32], parameters: &[f32], state: &mut [f32], outputs: &mut [f32]) -> Result<()> {
        let Call { mode, seed, step } = call;
        let ran = self.0.forward(mode == Mode::Training, seed, step, x, parameters, state, outputs);
        ran.map_err(|error| Error::Torch(error.what().to_owned()))
    }

    fn backward(&self, adjoint: &[f32], gradient: &mut [f32]) -> Result<()> {
        self.0.backward(adjoint, gradient).map_err(|error| Error::Torch(error.what().to_owned()))
    }

    fn end(&self) {
        self.0.end();
    }
}

/// LibTorch, with flat vectors of so many parameters and so much state.
fn libtorch_module(
    spec: &NetworkSpec,
    calls: SharedPtr<LibTorchCalls>,
    [parameters, state]: [usize; 2],
) -> LibTorchModule {
    LibTorchModule {
        name: spec.name.clone(),
        shape: spec.shape.clone(),
        outputs: spec.outputs,
        parameters,
        state,
        takes_one: [spec.trains_one, spec.evaluates_one],
        calls: Box::new(Called(calls)),
        seen_apart: AtomicBool::new(false),
    }
}

fn place(captured: &Captured) -> Option<Place> {
    match captured {
        Captured::Parameter(range) => Some(Place::Parameter(range.start)),
        Captured::State(range) => Some(Place::State(range.start)),
        Captured::Fixed(_) => None,
    }
}

unsafe fn model_of_module(
    network: &NetworkSpec,
    calls: SharedPtr<LibTorchCalls>,
    tensors: &TensorsSpec,
    observed: &ModuleSpec,
    training: Box<AnyBatch>,
    evaluation: Box<AnyBatch>,
    captured: &[usize],
) -> Result<Box<Model>> {
    let in_mode = |batch, mode: &ModeSpec| Observed {
        batch,
        one: mode.one.first().cloned().ok_or_else(|| mode.why_not_one.clone()),
        constants: mode.constants.clone(),
    };
    guard(|| {
        let mut modes = [in_mode(*training, &observed.training), in_mode(*evaluation, &observed.evaluation)];
        let parts: Vec<&str> = observed.captured.iter().map(|captured| &*captured.part).collect();
        modes.iter_mut().for_each(|mode| mode.name_parts(&parts));
        // SAFETY: the caller's promise.
        let addresses = unsafe { Addresses::new(captured) };
        let fixed = |index: usize, bytes: usize| {
            let words = addresses.read::<u8>(index, bytes).chunks(size_of::<u64>());
            words.map(|word| word.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))).collect()
        };
        let is_parameter: Vec<bool> = observed.captured.iter().map(|captured| captured.is_parameter).collect();
        let module = match Module::new(&network.name, &network.shape, modes, &is_parameter, fixed) {
            Ok(module) if module.dtype() == DType::Float32 => module,
            Ok(module) => {
                return on_libtorch(network, calls, tensors, &format!("it computes in {}", module.dtype().name()));
            }
            Err(Error::Invalid { what, .. }) => return on_libtorch(network, calls, tensors, &what),
            Err(other) => return Err(other),
        };
        module.check_events_are_apart()?;
        let (mut parameters, mut state) = (vec![0.0; module.parameters()], vec![0.0; module.state()]);
        for (index, captured) in module.captured().iter().enumerate() {
            match captured {
                Captured::Parameter(range) => {
                    parameters[range.clone()].copy_from_slice(addresses.read(index, range.len()))
                }
                Captured::State(range) => state[range.clone()].copy_from_slice(addresses.read(index, range.len())),
                Captured::Fixed(_) => (),
            }
        }
        let named = module.captured().iter().zip(&observed.captured);
        let named = named.filter_map(|(captured, spec)| Some((place(captured)?, spec.path.clone()))).collect();
        let names = Names::new(&network.last_activation, named);
        let libtorch = libtorch_module(network, calls, [parameters.len(), state.len()]);
        Model::of_module(Ok(module), libtorch, names, &parameters, &state).map(Box::new)
    })
}

fn model_on_libtorch(
    network: &NetworkSpec,
    calls: SharedPtr<LibTorchCalls>,
    tensors: &TensorsSpec,
    why: &str,
) -> Result<Box<Model>> {
    guard(|| on_libtorch(network, calls, tensors, why))
}

fn on_libtorch(
    network: &NetworkSpec,
    calls: SharedPtr<LibTorchCalls>,
    tensors: &TensorsSpec,
    why: &str,
) -> Result<Box<Model>> {
    let TensorsSpec { paths, places, parameters, state } = tensors;
    let place =
        |place: &PlaceSpec| if place.kind == 0 { Place::Parameter(place.start) } else { Place::State(place.start) };
    let names = Names::new(&network.last_activation, places.iter().map(place).zip(paths.iter().cloned()).collect());
    let libtorch = libtorch_module(network, calls, [parameters.len(), state.len()]);
    Model::of_module(Err(why), libtorch, names, parameters, state).map(Box::new)
}

fn events_mix(what: &str) -> String {
    graph::events_mix(what).to_string()
}

fn model_has_kernels(model: &Model) -> bool {
    model.module().is_some()
}

fn model_check_apart(model: &Model, x: &[f32]) -> Result<()> {
    let Network::Module(module) = model.network() else { return Ok(()) };
    guard(|| match model.module() {
        Some(_) => Ok(()), // Its operators were looked at.
        None => module.libtorch().check_events_are_apart(x, model.parameters(), model.state()),
    })
}

fn model_places(model: &Model) -> Vec<PlaceSpec> {
    let spec = |captured: &Captured| match place(captured) {
        Some(Place::Parameter(start)) => PlaceSpec { kind: 0, start },
        Some(Place::State(start)) => PlaceSpec { kind: 1, start },
        None => PlaceSpec { kind: 2, start: 0 },
    };
    model.module().map_or(Vec::new(), |module| module.captured().iter().map(spec).collect())
}

fn model_state(model: &Model) -> &[f32] {
    model.state()
}

fn model_batches(model: &Model) -> u64 {
    model.batches()
}

fn model_load(path: &str, activation: &str) -> Result<Box<Model>> {
    guard(|| {
        let compile = || compile_activation(activation, COMPILE_LIMIT);
        let own = (!activation.is_empty()).then(compile).transpose()?;
        Model::load(Path::new(path), own).map(Box::new)
    })
}

fn model_save(model: &Model, path: &str) -> Result<()> {
    guard(|| model.save(Path::new(path)))
}

fn model_clone(model: &Model) -> Result<Box<Model>> {
    guard(|| model.copy().map(Box::new))
}

fn model_columns(model: &Model) -> Vec<ColumnSpec> {
    model.columns().to_vec()
}

fn model_targets(model: &Model) -> Vec<String> {
    model.targets().names().to_vec()
}

fn model_inputs(model: &Model) -> usize {
    model.inputs()
}

fn model_outputs(model: &Model) -> usize {
    model.outputs()
}

fn model_describe(model: &Model) -> String {
    model.describe()
}

fn model_parameters(model: &Model) -> &[f32] {
    model.parameters()
}

fn model_set_parameters(model: &mut Model, values: &[f32]) -> Result<()> {
    guard(|| model.set_parameters(values))
}

fn scaler_spec(scaler: Option<&Scaler>) -> ScalerSpec {
    let mean = scaler.iter().flat_map(|scaler| scaler.mean.iter().copied().map(f64::from)).collect();
    ScalerSpec { mean, deviation: scaler.iter().flat_map(|scaler| scaler.deviation()).collect() }
}

/// None without columns.
fn scaler(mean: &[f64], deviation: &[f64]) -> Result<Option<Scaler>> {
    Ok(Some(Scaler::new(mean, deviation)?).filter(|scaler| !scaler.mean.is_empty()))
}

fn model_scaler(model: &Model) -> ScalerSpec {
    scaler_spec(model.training().scaler.as_ref())
}

fn model_set_scaler(model: &mut Model, mean: &[f64], deviation: &[f64]) -> Result<()> {
    guard(|| model.set_training(Training { scaler: scaler(mean, deviation)?, ..model.training().clone() }))
}

fn model_target_scaler(model: &Model) -> ScalerSpec {
    scaler_spec(model.training().target.as_ref())
}

fn model_set_target_scaler(model: &mut Model, mean: &[f64], deviation: &[f64]) -> Result<()> {
    guard(|| model.set_training(Training { target: scaler(mean, deviation)?, ..model.training().clone() }))
}

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn model_set_columns(model: &mut Model, columns: &Vec<ColumnSpec>) -> Result<()> {
    guard(|| model.set_training(Training { columns: columns.clone(), ..model.training().clone() }))
}

fn model_options(model: &Model) -> Result<FitSpec> {
    let none = || Error::invalid("a model that was not trained has no options", "train it with Fit, or set them");
    guard(|| model.training().options.clone().ok_or_else(none))
}

fn model_set_options(model: &mut Model, spec: &FitSpec) -> Result<()> {
    guard(|| {
        let options = Some(decided_options(spec, model)?);
        model.set_training(Training { options, ..model.training().clone() })
    })
}

fn model_predict(model: &Model, data: &Dataset, raw: bool, threads: usize, out: &mut [f32]) -> Result<()> {
    guard(|| model.predict(data, raw, threads, out))
}

fn model_score(model: &Model, features: &[f32], raw: bool, out: &mut [f32]) -> Result<()> {
    guard(|| model.score(features, raw, out))
}

fn trainer_new(model: &Model, data: &Dataset, spec: &FitSpec) -> Result<Box<Trainer>> {
    guard(|| Trainer::new(model, data, spec).map(Box::new))
}

fn trainer_part(trainer: &mut Trainer, data: &Dataset) -> Result<EpochPart> {
    guard(|| trainer.part(data))
}

fn trainer_end_epoch(trainer: &mut Trainer, data: &Dataset) -> Result<EpochRecord> {
    guard(|| trainer.end_epoch(data))
}

fn trainer_finish(trainer: &Trainer, model: &mut Model) -> Result<()> {
    guard(|| trainer.finish(model))
}

fn trainer_describe(trainer: &Trainer) -> String {
    trainer.describe()
}

fn fit_check_count(name: &str, value: i64) -> Result<()> {
    guard(|| train::check_count(name, value))
}

fn verbosity_of_back_end(spec: &FitSpec, model: &Model) -> Result<i32> {
    guard(|| train::verbosity_of_back_end(spec, model))
}

fn trainer_warnings(trainer: &mut Trainer) -> Vec<String> {
    trainer.warnings()
}

fn roc(scores: &[f32], labels: &[f32], weights: &[f32]) -> Result<RocCurve> {
    guard(|| metrics::roc(scores, labels, weights).map(|curve| metrics::thin(&curve)))
}

fn provoke_panic() -> Result<()> {
    guard(|| panic!("provoked for a test"))
}

fn file_new(path: &str) -> Result<Box<AtomicFile>> {
    guard(|| Ok(Box::new(AtomicFile(atomic_file::AtomicFile::new(Path::new(path))?))))
}

fn file_path(file: &AtomicFile) -> Result<String> {
    let text = file.0.path().to_str().map(str::to_owned);
    text.ok_or_else(|| Error::invalid(format!("{:?} is no UTF-8", file.0.path()), "choose another name"))
}

fn file_publish(file: Box<AtomicFile>) -> Result<()> {
    guard(|| file.0.publish())
}

fn text_name(name: &[u8]) -> String {
    text::name(&String::from_utf8_lossy(name))
}

fn text_message(message: &[u8]) -> String {
    text::message(&String::from_utf8_lossy(message))
}

/// A file on its way to its place.
pub struct AtomicFile(atomic_file::AtomicFile);

/// A tree's file as ROOT describes it.
pub struct TreeFile(file::TreeFile);

/// A feed that the C++ side holds beside the epoch.
pub struct FeedHandle(Arc<Feed>);

/// Events that the C++ side holds beside the feed.
pub struct SharedEvents(Arc<Events>);

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn stream_new(columns: &Vec<ColumnSpec>) -> Result<Box<Stream>> {
    guard(|| Stream::new(columns).map(Box::new))
}

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn stream_add(stream: &mut Stream, name: &str, targets: &Vec<String>, cluster_ends: &[u64]) -> Result<()> {
    guard(|| {
        let (targets, cluster_ends) = (Targets::new(targets)?, cluster_ends.to_vec());
        stream.add(stream::Source { name: name.to_owned(), targets, cluster_ends })
    })
}

fn stream_columns(stream: &Stream) -> Vec<ColumnSpec> {
    stream.columns().to_vec()
}

fn stream_targets(stream: &Stream) -> Vec<String> {
    stream.targets().names().to_vec()
}

fn stream_width(stream: &Stream) -> usize {
    stream.width()
}

fn stream_entries(stream: &Stream) -> u64 {
    stream.entries()
}

fn stream_check_window(entries: u64) -> Result<()> {
    guard(|| train::check_window(entries))
}

fn stream_epoch(stream: &Stream, number: u64, validation: bool, how: &StreamSpec, fit: &FitSpec) -> Result<Box<Epoch>> {
    guard(|| {
        let mixing = if how.balanced { Mixing::Balanced } else { Mixing::Proportional };
        let settings = stream_settings(stream, fit, how.window, mixing)?;
        let part = if validation { Part::Validation } else { Part::Training };
        let buffer = if how.buffer == 0 { settings.window } else { how.buffer };
        stream.epoch(number, part, &settings, buffer).map(Box::new)
    })
}

fn epoch_batch(epoch: &mut Epoch, batch: &mut Batch) -> Result<()> {
    guard(|| epoch.batch(batch))
}

fn epoch_feed(epoch: &Epoch) -> Box<FeedHandle> {
    Box::new(FeedHandle(epoch.feed()))
}

fn feed_want(feed: &FeedHandle, block: &mut BlockSpec) -> bool {
    let Some(stream::Block { source, first, entries, together, copied }) = feed.0.want() else { return false };
    *block = BlockSpec { source, first, entries, together_first: together.0, together_end: together.1, copied };
    true
}

fn feed_dataset(feed: &FeedHandle, rows: u64) -> Result<Box<Dataset>> {
    guard(|| feed.0.dataset(rows as usize).map(Box::new))
}

fn feed_deliver(feed: &FeedHandle, block: &BlockSpec, events: &SharedEvents) -> Result<()> {
    let &BlockSpec { source, first, entries, together_first, together_end, copied } = block;
    let block = stream::Block { source, first, entries, together: (together_first, together_end), copied };
    guard(|| feed.0.deliver(block, Arc::clone(&events.0)))
}

fn events_all(first: u64, end: u64, data: Box<Dataset>) -> Result<Box<SharedEvents>> {
    guard(|| Ok(Box::new(SharedEvents(Arc::new(Events::all(first..end, *data)?)))))
}

fn events_new(first: u64, end: u64, entries: &[u64], data: Box<Dataset>) -> Result<Box<SharedEvents>> {
    guard(|| Ok(Box::new(SharedEvents(Arc::new(Events::new(first..end, entries, *data)?)))))
}

fn events_shared(events: &SharedEvents) -> Box<SharedEvents> {
    Box::new(SharedEvents(Arc::clone(&events.0)))
}

fn events_part(events: &SharedEvents, first: u64, end: u64) -> Result<Box<SharedEvents>> {
    guard(|| Ok(Box::new(SharedEvents(Arc::new(events.0.part(first, end)?)))))
}

fn feed_fail(feed: &FeedHandle, reason: &str) {
    feed.0.fail(reason);
}

fn feed_close(feed: &FeedHandle) {
    feed.0.close();
}

fn stream_trainer_new(
    model: &Model,
    stream: &Stream,
    spec: &FitSpec,
    sample: &mut Epoch,
) -> Result<Box<StreamTrainer>> {
    guard(|| StreamTrainer::new(model, stream, spec, sample).map(Box::new))
}

fn stream_trainer_window(trainer: &mut StreamTrainer, model: &Model, epoch: &mut Epoch) -> Result<EpochPart> {
    guard(|| trainer.window(epoch, model.outputs()))
}

fn stream_trainer_end_epoch(trainer: &mut StreamTrainer) -> Result<EpochRecord> {
    guard(|| trainer.end_epoch())
}

fn stream_trainer_finish(trainer: &StreamTrainer, model: &mut Model) -> Result<()> {
    guard(|| trainer.finish(model))
}

fn stream_trainer_describe(trainer: &StreamTrainer) -> String {
    trainer.describe()
}

fn stream_trainer_warnings(trainer: &mut StreamTrainer) -> Vec<String> {
    trainer.warnings()
}

fn signal_detector_psd(samples: usize, rate: f64) -> Result<Vec<f64>> {
    guard(|| signal::detector_psd(samples, rate))
}
fn signal_welch(strain: &[f64], segment: usize, rate: f64) -> Result<Vec<f64>> {
    guard(|| signal::welch(strain, segment, rate))
}
fn signal_noise(psd: &[f64], rate: f64, seed: u64) -> Result<Vec<f64>> {
    guard(|| signal::noise(psd, rate, seed))
}
fn signal_whiten(strain: &[f64], psd: &[f64], rate: f64) -> Result<Vec<f64>> {
    guard(|| signal::whiten(strain, psd, rate))
}
fn signal_chirp(samples: usize, rate: f64, chirp_mass: f64, start: f64, coalescence: f64) -> Result<Vec<f64>> {
    guard(|| signal::chirp(samples, rate, chirp_mass, start, coalescence))
}
fn signal_sine_gaussian(samples: usize, rate: f64, frequency: f64, quality: f64, arrival: f64) -> Result<Vec<f64>> {
    guard(|| signal::sine_gaussian(samples, rate, frequency, quality, arrival))
}
fn signal_phase_shift(strain: &[f64], phase: f64) -> Result<Vec<f64>> {
    guard(|| signal::phase_shift(strain, phase))
}
fn signal_snr(strain: &[f64], psd: &[f64], rate: f64) -> Result<f64> {
    guard(|| signal::snr(strain, psd, rate))
}
fn signal_scale_to_snr(strain: &[f64], psd: &[f64], rate: f64, snr: f64) -> Result<Vec<f64>> {
    guard(|| signal::scale_to_snr(strain, psd, rate, snr))
}
fn signal_auc_bound(snr: f64, known_phase: bool) -> Result<f64> {
    guard(|| signal::auc_bound(snr, signal::Phase::from(known_phase)))
}
fn signal_efficiency_bound(snr: f64, false_alarm: f64, known_phase: bool) -> Result<f64> {
    guard(|| signal::efficiency_bound(snr, false_alarm, signal::Phase::from(known_phase)))
}
