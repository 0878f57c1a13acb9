//! The optimisers in LibTorch's operators: the formulas of the sweeps in `cpp/kernels`, on any device.

use std::ops::Range;

use tch::{TchError, Tensor};

use super::{BETA1, BETA2, Clip, EPSILON, NORM_EPSILON, Rule};
use crate::graph::Optimiser;

/// An optimiser of one parameter tensor.
pub struct TensorOptimiser {
    rule: Rule,
    moments: [Tensor; 2],
    steps: i32,
    /// Where the parameters stay as they are; none: nowhere.
    frozen: Option<Tensor>,
}

impl TensorOptimiser {
    /// For `parameters`, on their device.
    pub fn new(rule: Rule, parameters: &Tensor) -> Result<Self, TchError> {
        let zeros = || parameters.f_zeros_like()?.f_set_requires_grad(false);
        Ok(TensorOptimiser { rule, moments: [zeros()?, zeros()?], steps: 0, frozen: None })
    }

    /// Freezes the parameters `frozen`: see [`HostOptimiser::leave`](super::HostOptimiser::leave).
    pub fn leave(&mut self, frozen: &[Range<usize>]) -> Result<(), TchError> {
        let mut marks = vec![false; self.moments[0].numel()];
        frozen.iter().for_each(|range| marks[range.clone()].fill(true));
        let marks = Tensor::f_from_slice(&marks)?.f_view_as(&self.moments[0])?;
        self.frozen = Some(marks.f_to_device(self.moments[0].device())?).filter(|_| !frozen.is_empty());
        Ok(())
    }

    /// Its memory: updates so far, and moments as in [`State`](super::State).
    pub fn state(&self) -> (i32, &[Tensor; 2]) {
        (self.steps, &self.moments)
    }

    /// Goes on from there, with moments of the parameters' shape on their device.
    pub fn set_state(&mut self, steps: i32, moments: [Tensor; 2]) {
        (self.steps, self.moments) = (steps, moments);
    }

    /// One step of size `rate`; autograd must be off.
    pub fn update(&mut self, rate: f64, parameters: &mut Tensor, gradient: Tensor) -> Result<(), TchError> {
        let Some(frozen) = self.frozen.as_ref().map(Tensor::shallow_clone) else {
            return self.move_all(rate, parameters, gradient);
        };
        let before = parameters.f_detach()?.f_contiguous()?.copy();
        self.move_all(rate, parameters, gradient)?;
        parameters.f_copy_(&before.f_where_self(&frozen, parameters)?).map(drop)
    }

    fn move_all(&mut self, rate: f64, parameters: &mut Tensor, mut gradient: Tensor) -> Result<(), TchError> {
        self.steps += 1;
        let Rule { optimiser, weight_decay, momentum, l1, clip } = self.rule;
        if l1 > 0.0 {
            gradient = gradient.f_add(&parameters.f_sign()?.f_mul_scalar(l1)?)?;
        }
        if let Some(frozen) = &self.frozen {
            gradient = gradient.f_masked_fill(frozen, 0.0)?;
        }
        match clip {
            None => {}
            Some(Clip::Value(most)) => gradient = gradient.f_clamp(-most, most)?,
            Some(Clip::Norm(most)) => {
                let norm = gradient.f_norm()?.f_add_scalar(NORM_EPSILON)?;
                gradient = gradient.f_mul(&norm.f_reciprocal()?.f_mul_scalar(most)?.f_clamp_max(1.0)?)?;
            }
        }
        let [first, second] = &mut self.moments;
        match optimiser {
            Optimiser::AdamW => drop(parameters.f_mul_scalar_(1.0 - rate * weight_decay)?),
            _ => gradient = gradient.f_add(&parameters.f_mul_scalar(weight_decay)?)?,
        }
        if optimiser == Optimiser::SGD {
            let velocity = first.f_mul_scalar_(momentum)?.f_add_(&gradient)?;
            let _ = parameters.f_sub_(&velocity.f_mul_scalar(rate)?)?;
            return Ok(());
        }
        let mean = first.f_mul_scalar_(BETA1)?.f_add_(&gradient.f_mul_scalar(1.0 - BETA1)?)?;
        let square = gradient.f_square()?.f_mul_scalar(1.0 - BETA2)?;
        let square = second.f_mul_scalar_(BETA2)?.f_add_(&square)?;
        let (bias1, bias2) = (1.0 - BETA1.powi(self.steps), 1.0 - BETA2.powi(self.steps));
        let scale = square.f_sqrt()?.f_div_scalar(bias2.sqrt())?.f_add_scalar(EPSILON)?;
        let _ = parameters.f_sub_(&mean.f_mul_scalar(rate / bias1)?.f_div(&scale)?)?;
        Ok(())
    }
}
