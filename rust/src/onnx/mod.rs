//! ONNX's messages (`onnx.proto`, github.com/onnx/onnx), by their field numbers: [`write`] for exports, [`read`] for imports, over
//! the [`wire`] format of protocol buffers.
//!
//! Written by hand: the fields that matter are two pages, and nothing is copied while a file is read. A generated schema with its
//! library would be two crates and 2 000 lines.

pub mod read;
pub mod wire;
pub mod write;

/// Numbers of fields.
mod field {
    pub mod model {
        pub const IR_VERSION: u64 = 1;
        pub const PRODUCER: u64 = 2;
        pub const PRODUCER_VERSION: u64 = 3;
        pub const GRAPH: u64 = 7;
        pub const OPSETS: u64 = 8;
        pub const METADATA: u64 = 14;
        pub const FUNCTIONS: u64 = 25;
    }
    pub mod opset {
        pub const DOMAIN: u64 = 1;
        pub const VERSION: u64 = 2;
    }
    pub mod graph {
        pub const NODES: u64 = 1;
        pub const NAME: u64 = 2;
        pub const INITIALIZERS: u64 = 5;
        pub const INPUTS: u64 = 11;
        pub const OUTPUTS: u64 = 12;
        pub const SPARSE: u64 = 15;
    }
    pub mod node {
        pub const INPUTS: u64 = 1;
        pub const OUTPUTS: u64 = 2;
        pub const NAME: u64 = 3;
        pub const OPERATOR: u64 = 4;
        pub const ATTRIBUTES: u64 = 5;
        pub const DOMAIN: u64 = 7;
    }
    pub mod attribute {
        pub const NAME: u64 = 1;
        pub const FLOAT: u64 = 2;
        pub const INTEGER: u64 = 3;
        pub const TEXT: u64 = 4;
        pub const TENSOR: u64 = 5;
        pub const GRAPH: u64 = 6;
        pub const FLOATS: u64 = 7;
        pub const INTEGERS: u64 = 8;
        pub const TEXTS: u64 = 9;
        pub const TYPE: u64 = 20;
        pub const REFERENCE: u64 = 21;
        /// Values of [`TYPE`].
        pub const IS_FLOAT: i64 = 1;
        pub const IS_INTEGER: i64 = 2;
        pub const IS_TEXT: i64 = 3;
        pub const IS_TENSOR: i64 = 4;
        pub const IS_GRAPH: i64 = 5;
        pub const IS_FLOATS: i64 = 6;
        pub const IS_INTEGERS: i64 = 7;
        pub const IS_TEXTS: i64 = 8;
    }
    pub mod tensor {
        pub const DIMS: u64 = 1;
        pub const TYPE: u64 = 2;
        pub const FLOATS: u64 = 4;
        pub const INT32S: u64 = 5;
        pub const INT64S: u64 = 7;
        pub const NAME: u64 = 8;
        pub const RAW: u64 = 9;
        pub const DOUBLES: u64 = 10;
        pub const UINT64S: u64 = 11;
        pub const EXTERNAL: u64 = 13;
        pub const LOCATION: u64 = 14;
    }
    pub mod info {
        pub const NAME: u64 = 1;
        pub const TYPE: u64 = 2;
        pub const ABOUT: u64 = 3;
        /// In a type: that of a tensor, with its elements and its shape of dimensions.
        pub const TENSOR: u64 = 1;
        pub const ELEMENT: u64 = 1;
        pub const SHAPE: u64 = 2;
        pub const DIM: u64 = 1;
        pub const SIZE: u64 = 1;
        pub const SYMBOL: u64 = 2;
    }
    pub mod entry {
        pub const KEY: u64 = 1;
        pub const VALUE: u64 = 2;
    }
}
