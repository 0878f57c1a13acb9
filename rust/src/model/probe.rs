//! Whether a network can be used: finite weights can still overflow in it.

use super::{Model, Network};
use crate::error::{Error, Result};
use crate::gradient::batches::differ;
use crate::gradient::{Memory, Packing, Pass};
use crate::graph::{Mode, Op, events_mix};

/// Where a feature lies, in standard deviations from its mean.
const PLACES: [f32; 3] = [0.0, 1.0, -1.0];

impl Model {
    /// Refuses weights whose predictions at the features' means, or one standard deviation from them, are not finite. An
    /// activation of the user's own need not be defined there, so such a network is not asked.
    pub(super) fn check_predictions(&self) -> Result<()> {
        let (Network::Mlp(mlp), Some(module)) = (self.network(), self.module()) else { return Ok(()) };
        if matches!(mlp.activation, Op::Custom(_)) {
            return Ok(());
        }
        // The parameters as they are: they need not be packed for three events.
        let mut pass = Pass::new(module, &Packing::plain(module), Mode::Evaluation, 1)?;
        let mut outputs = vec![0.0; self.outputs()];
        let mut are_finite = true;
        for place in PLACES {
            let x = self.event_at(place);
            let memory = Memory { x: &x, parameters: self.parameters(), derived: &[], state: self.state() };
            pass.forward(module, &memory, 1, &mut outputs)?;
            are_finite &= outputs.iter().all(|output| output.is_finite());
        }
        match are_finite {
            true => Ok(()),
            false => Err(Error::invalid(
                "its predictions are not finite, because its weights are too large",
                "fit again with a smaller fLearningRate",
            )),
        }
    }

    /// Refuses a network that takes an event for another one by its place in the batch, as `x.select(0, 0)` does: predictions go
    /// through blocks of any size.
    pub fn check_places(&self) -> Result<()> {
        const EVENTS: usize = 7;
        // From 0 to 1, as in an observation: as whole numbers they are 0, which any table of categories has.
        let place = |index: usize| 0.5 + 0.49 * (index as f32 * 0.37).sin();
        let mut x: Vec<f32> = (0..EVENTS * self.inputs()).map(place).collect();
        let mut outputs = [vec![0.0; EVENTS * self.outputs()], vec![0.0; EVENTS * self.outputs()]];
        self.predict_rows(&x, true, 1, &mut outputs[0])?;
        x.rotate_left(self.inputs());
        self.predict_rows(&x, true, 1, &mut outputs[1])?;
        outputs[1].rotate_right(self.outputs());
        match differ(&outputs[0], &outputs[1]) {
            false => Ok(()),
            true => Err(events_mix(
                "an operator takes events by their place in the batch (slice, select or cat along dimension 0)",
            )),
        }
    }

    /// The features [inputs], standardised, of an event that is `place` standard deviations from the means.
    fn event_at(&self, place: f32) -> Vec<f32> {
        let Some(scaler) = &self.training().scaler else { return vec![place; self.inputs()] };
        // As a prediction would standardise it.
        let features = scaler.mean.iter().zip(&scaler.inverse).map(|(mean, inverse)| mean + place / inverse);
        let finite = features.map(|x| x.clamp(f32::MIN, f32::MAX));
        let standardise = |((x, mean), inverse): ((f32, &f32), &f32)| (x - mean) * inverse;
        finite.zip(&scaler.mean).zip(&scaler.inverse).map(standardise).collect()
    }
}
