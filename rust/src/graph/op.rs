//! The lists of operators. Tests, documentation and the model file run over these lists.

use super::Function;

/// Declares an enumeration whose variants carry a name and a number fixed for files and for the C++ side.
macro_rules! listed {
    ($(#[$doc:meta])* $name:ident { $($(#[$vdoc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum $name { $($(#[$vdoc])* $variant,)* }

        impl $name {
            /// Every member, in the order of its numbers.
            pub const ALL: &[$name] = &[$($name::$variant,)*];

            /// The name used in model files.
            pub fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)* }
            }

            /// The name that users type: of the enumerator in `FitOptions.hxx`.
            pub fn enumerator(self) -> &'static str {
                match self { $($name::$variant => concat!("k", stringify!($variant)),)* }
            }

            /// The member of that name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|member| member.name() == name)
            }

            /// The member of that number.
            pub fn from_number(number: u8) -> Option<Self> {
                Self::ALL.get(usize::from(number)).copied()
            }
        }
    };
}

listed! {
    /// Activation functions; the numbers of the first ones are those of `ct_activation` in `cpp/kernels/kernels.h`.
    Activation {
        /// x
        Identity = "identity",
        /// max(x, 0)
        ReLU = "relu",
        /// x for x > 0, else 0.01 x
        LeakyReLU = "leaky_relu",
        /// tanh x
        Tanh = "tanh",
        /// 1 / (1 + exp(-x))
        Sigmoid = "sigmoid",
        /// x sigmoid(x)
        SiLU = "silu",
        /// x Phi(x), exact (Hendrycks and Gimpel 2016, eq. 1)
        GELU = "gelu",
        /// log(1 + exp x)
        Softplus = "softplus",
    }
}

listed! {
    /// Losses; the numbers are those of `ct_loss` in `cpp/kernels/kernels.h`.
    Loss {
        /// Binary cross-entropy on logits.
        BinaryCrossEntropy = "binary_cross_entropy",
        /// Softmax cross-entropy on logits, with a class index as target.
        SoftmaxCrossEntropy = "softmax_cross_entropy",
        /// Mean squared error.
        MeanSquaredError = "mean_squared_error",
        /// Huber loss with delta 1.
        Huber = "huber",
        /// Focal loss on logits.
        Focal = "focal",
        /// Pinball loss, whose minimum is a quantile of the labels.
        Quantile = "quantile",
        /// Likelihood of a normal distribution whose mean and variance the network gives.
        Gaussian = "gaussian",
    }
}

/// The meaning of a network's outputs, once they are predictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// Probabilities of label 1, or of the classes.
    Probabilities,
    /// In the units of the labels.
    Values,
    /// Means of all targets and then their standard deviations, in the units of the labels.
    Gaussians,
}

/// Slope of LeakyReLU, below 0.
const LEAKY_SLOPE: f64 = 0.01;

/// Beyond it softplus is the identity: exp(-40) is less than half a unit in the last place of 40 in float64.
const SOFTPLUS_THRESHOLD: f64 = 40.0;

impl Activation {
    /// Its scalar function, and the number that this takes besides x.
    pub fn function(self) -> (Function, Option<f64>) {
        match self {
            Activation::Identity => (Function::Identity, None),
            Activation::ReLU => (Function::Relu, None),
            Activation::LeakyReLU => (Function::Leaky, Some(LEAKY_SLOPE)),
            Activation::Tanh => (Function::Tanh, None),
            Activation::Sigmoid => (Function::Sigmoid, None),
            Activation::SiLU => (Function::Silu, None),
            Activation::GELU => (Function::Gelu, None),
            Activation::Softplus => (Function::SoftplusBelow, Some(SOFTPLUS_THRESHOLD)),
        }
    }
}

impl Loss {
    /// Numbers in a label for a network of `outputs` outputs: a class, one for each output, or one for each pair.
    pub fn targets(self, outputs: usize) -> usize {
        if self == Loss::SoftmaxCrossEntropy { 1 } else { self.gives().targets(outputs) }
    }

    /// Whether outputs are values that approach the labels, which allows several targets.
    pub fn is_regression(self) -> bool {
        self.gives() != Gives::Probabilities
    }

    /// The predictions of a network that was trained with it.
    pub fn gives(self) -> Gives {
        match self {
            Loss::BinaryCrossEntropy | Loss::SoftmaxCrossEntropy | Loss::Focal => Gives::Probabilities,
            Loss::MeanSquaredError | Loss::Huber | Loss::Quantile => Gives::Values,
            Loss::Gaussian => Gives::Gaussians,
        }
    }
}

/// Lower limit for [`Loss::Gaussian`], in the units of the standardised targets: a ten-thousandth of the targets'
/// standard deviation (exp(-9.25)), beyond what a fit in float32 resolves, and far from where the loss overflows.
pub const LEAST_LOG_VARIANCE: f64 = -18.5;

impl Gives {
    /// Targets of a regression of `outputs` outputs, or classes of a classifier.
    pub fn targets(self, outputs: usize) -> usize {
        if self == Gives::Gaussians { outputs / 2 } else { outputs }
    }

    /// Outputs for `targets` targets.
    pub fn outputs(self, targets: usize) -> usize {
        if self == Gives::Gaussians { 2 * targets } else { targets }
    }
}

listed! {
    /// Distributions that the parameters of a layer start from.
    #[derive(Default)]
    Init {
        /// Weights uniform with variance 2 / inputs (He et al. 2015, eq. 10), biases 0.
        Kaiming = "kaiming",
        /// Weights uniform with variance 2 / (inputs + outputs) (Glorot and Bengio 2010, eq. 16), biases 0.
        Xavier = "xavier",
        /// Weights and biases uniform within 1 / sqrt(inputs), as LibTorch's linear layers.
        #[default]
        Uniform = "uniform",
    }
}

listed! {
    /// Normalisations of a hidden layer of a perceptron, before its activation.
    Normalisation {
        /// There is none.
        NoNormalisation = "none",
        /// Over the events of a batch (Ioffe and Szegedy 2015).
        BatchNorm = "batch_norm",
        /// Over the numbers of each event (Ba, Kiros and Hinton 2016).
        LayerNorm = "layer_norm",
    }
}

listed! {
    /// Optimisers.
    Optimiser {
        /// Adam (Kingma and Ba 2015).
        Adam = "adam",
        /// Adam with decoupled weight decay (Loshchilov and Hutter 2019).
        AdamW = "adamw",
        /// Stochastic gradient descent with momentum.
        SGD = "sgd",
    }
}

listed! {
    /// How the learning rate changes over the epochs of a fit.
    Schedule {
        /// Not at all.
        Constant = "constant",
        /// Along half a period of a cosine, down towards 0, epoch by epoch (Loshchilov and Hutter 2017, eq. 5).
        Cosine = "cosine",
        /// Multiplied by a factor every given number of epochs.
        Step = "step",
        /// Up along half a period of a cosine and down along another, step by step (Smith and Topin 2018).
        OneCycle = "one_cycle",
        /// Multiplied by a factor when the validation loss has not improved for a given number of epochs.
        Plateau = "plateau",
    }
}

listed! {
    /// How events of negative weight count in the loss.
    NegativeWeights {
        /// With their weights.
        KeepNegative = "keep_negative",
        /// Not at all.
        DropNegative = "drop_negative",
        /// With the absolute values of their weights.
        AbsoluteWeights = "absolute_weights",
    }
}

impl NegativeWeights {
    /// What `weight` counts.
    pub fn of(self, weight: f32) -> f32 {
        match self {
            NegativeWeights::KeepNegative => weight,
            NegativeWeights::DropNegative => weight.max(0.0),
            NegativeWeights::AbsoluteWeights => weight.abs(),
        }
    }
}

listed! {
    /// Numbers that the products of a fit multiply.
    Precision {
        /// As they are.
        Float32 = "float32",
        /// Rounded to bfloat16, which has 8 bits of precision and the range of float32; sums are float32.
        BF16 = "bf16",
        /// Rounded to TF32, which has 11 bits of precision and the range of float32, in products on a GPU; sums are float32.
        TF32 = "tf32",
        /// Each as the sum of two numbers in TF32, in products on a GPU.
        TF32x3 = "tf32x3",
    }
}

listed! {
    /// Who provides the gradient of a fit.
    Gradient {
        /// Clad's derivatives.
        Clad = "clad",
        /// LibTorch's tape.
        Autograd = "autograd",
    }
}

listed! {
    /// Types of a tensor's elements.
    DType {
        /// 4 bytes
        Float32 = "float32",
        /// 8 bytes
        Float64 = "float64",
        /// Indices.
        Int64 = "int64",
        /// Masks, a byte each.
        Bool = "bool",
    }
}

impl DType {
    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self {
            DType::Float64 | DType::Int64 => 8,
            DType::Float32 => 4,
            DType::Bool => 1,
        }
    }
}
