//! The meaning of a model's predictions.

use super::Model;
use crate::graph::Loss;

impl Model {
    /// The meaning of its predictions, whatever the names of the labels: two models mean the same if these texts are
    /// equal. Empty for a model that was not trained.
    pub fn meaning(&self) -> String {
        let Some(options) = &self.training().options else { return String::new() };
        match options.loss {
            None if !options.logits => "outputs of a loss of your own".to_owned(),
            Some(Loss::Quantile) => format!("the quantile {} of the labels", options.quantile),
            Some(Loss::Gaussian) => "means and standard deviations of the labels".to_owned(),
            Some(loss) if loss.is_regression() => "values of the labels".to_owned(),
            _ if self.outputs() == 1 => "probabilities of signal".to_owned(),
            _ => "probabilities of classes".to_owned(),
        }
    }
}
