//! The scalar functions of the operator graph.

/// Declares [`Function`] in the order of the lists in `cpp/kernels/operators.hpp`.
macro_rules! functions {
    ($($arity:literal $kind:ident: $($name:ident)*;)*) => {
        /// A scalar function; the numbers are those of `cpp/kernels/operators.hpp`, which says what each computes.
        #[allow(missing_docs)]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum Function { $($($name,)*)* }

        impl Function {
            /// Every function, in the order of its numbers.
            pub const ALL: &[Function] = &[$($(Function::$name,)*)*];

            /// As in `operators.hpp`.
            pub fn name(self) -> &'static str {
                match self { $($(Function::$name => stringify!($name),)*)* }
            }

            /// Operands.
            pub fn arity(self) -> usize {
                match self { $($(Function::$name => $arity,)*)* }
            }

            /// Whether its value says true or false.
            pub fn is_mask(self) -> bool {
                match self { $($(Function::$name => stringify!($kind) == "mask",)*)* }
            }

            /// Whether it has a derivative other than 0 somewhere.
            pub fn is_differentiable(self) -> bool {
                match self { $($(Function::$name => stringify!($kind) == "smooth",)*)* }
            }
        }
    };
}

functions! {
    1 smooth: Identity Neg Reciprocal Squared Sqrt Rsqrt Exp Tanh Abs Relu Sigmoid Silu Gelu GeluTanh LogSigmoid
        Expm1 Exp2 Log Log1p Log2 Log10 Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh Erf ErfComplement;
    1 flat: Floor Ceil Round Trunc Sign;
    2 smooth: Add Sub Mul Div Maximum Minimum ClampMin ClampMax Leaky Elu SoftplusBelow LogitLoss HuberLoss SmoothLoss
        Remainder Fmod Hypot FiniteOr Pow Atan2 LogAddExp Xlogy;
    2 mask: Less LessEqual Equal NotEqual And Or;
    3 smooth: Where Clamp;
}
