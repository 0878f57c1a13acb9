//! Fits by an engine that works ahead, as on a GPU: the loss of a call comes with the next one.

use std::mem;

use crate::columns::Column;
use crate::dataset::Dataset;
use crate::error::Result;
use crate::gradient::{Engine, Rows, RowsOf, Snapshot, Steps};
use crate::graph::{Activation, Init};
use crate::model::Model;
use crate::train::checkpoint::Checkpoint;
use crate::train::{Options, Trainer};

struct Late {
    engine: Option<Box<dyn Engine>>,
    owed: f64,
}

/// Steps that do not see the loss.
struct Blind<'a>(&'a dyn Steps);

impl Steps for Blind<'_> {
    fn rate(&self, batch: usize, _: f64) -> Result<f64> {
        self.0.rate(batch, 0.0)
    }
}

impl Late {
    fn engine(&self) -> &dyn Engine {
        &**self.engine.as_ref().unwrap()
    }

    fn engine_mut(&mut self) -> &mut dyn Engine {
        &mut **self.engine.as_mut().unwrap()
    }
}

impl Engine for Late {
    fn train(&mut self, data: Rows, order: &[u32], steps: &dyn Steps) -> Result<f64> {
        let loss = self.engine_mut().train(data, order, &Blind(steps))?;
        Ok(mem::replace(&mut self.owed, loss))
    }

    fn settle(&mut self) -> Result<f64> {
        Ok(mem::take(&mut self.owed))
    }

    fn evaluate(&mut self, data: Rows, order: &[u32]) -> Result<f64> {
        self.engine_mut().evaluate(data, order)
    }

    fn turn_to(&mut self, of: RowsOf) {
        self.engine_mut().turn_to(of);
    }

    fn forget(&mut self) {
        self.engine_mut().forget();
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        self.engine().parameters()
    }

    fn snapshot(&self) -> Result<Snapshot> {
        self.engine().snapshot()
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        self.engine_mut().restore(snapshot)
    }

    fn describe(&self) -> String {
        self.engine().describe()
    }
}

/// Events whose label is the sum of their features.
fn sums() -> Dataset {
    let mut data = Dataset::new(&[Column::new("x", 1), Column::new("y", 1)]).unwrap();
    data.begin("sums").unwrap();
    for row in 0..400 {
        let [x, y] = [0.37, 0.73].map(|step| (f64::from(row) * step).sin() as f32);
        data.append(&[x, y], &[x + y], &[1.0]).unwrap();
    }
    data.commit().unwrap();
    data
}

/// Each part of an epoch is one batch.
fn trainer(data: &Dataset, options: &Options, is_late: bool) -> Trainer {
    let model = Model::new(&[2, 8, 1], Activation::Tanh, Init::Uniform, 1).unwrap();
    let mut trainer = Trainer::new(&model, data, options).unwrap();
    trainer.work = usize::MAX;
    if is_late {
        let engine = mem::replace(&mut trainer.fit.engine, Box::new(Late { engine: None, owed: 0.0 }));
        trainer.fit.engine = Box::new(Late { engine: Some(engine), owed: 0.0 });
    }
    trainer
}

fn options(folder: &tempfile::TempDir) -> Options {
    let checkpoint = folder.path().join("run.ckpt").to_string_lossy().into_owned();
    Options {
        loss: Some(crate::graph::Loss::MeanSquaredError),
        batch_size: 64,
        checkpoint,
        checkpoint_minutes: 1e-9,
        threads: 1,
        ..Options::default()
    }
}

#[test]
fn a_fit_that_works_ahead_has_the_same_history() {
    let (data, folder) = (sums(), tempfile::tempdir().unwrap());
    // A checkpoint would wait for the steps.
    let options = Options { checkpoint: String::new(), ..options(&folder) };
    let history = |is_late| {
        let mut trainer = trainer(&data, &options, is_late);
        (0..3).map(|_| trainer.epoch(&data).unwrap()).map(|epoch| (epoch.train_loss, epoch.validation_loss)).collect()
    };
    let [late, plain]: [Vec<_>; 2] = [true, false].map(history);
    assert!(late == plain && late[2].0 < late[0].0, "{late:?} {plain:?}");
}

#[test]
fn a_loss_that_is_not_finite_never_comes_to_a_checkpoint() {
    let (data, folder) = (sums(), tempfile::tempdir().unwrap());
    let options = Options { learning_rate: 1e30, ..options(&folder) };
    let mut trainer = trainer(&data, &options, true);
    let error = (0..100).find_map(|_| trainer.part(&data).err()).expect("a fit that diverges").to_string();
    assert!(error.contains("the training loss is"), "{error}");
    let kept = Checkpoint::load(std::path::Path::new(&options.checkpoint)).unwrap();
    assert!(kept.progress.loss_sum.is_finite() && kept.progress.rows > 0, "{}", kept.progress.loss_sum);
}
