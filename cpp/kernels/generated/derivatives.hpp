/// \file derivatives.hpp
/// Clad's derivatives of activations, losses and operators, for float and double. Not to be edited.
// Made by Clad 2.5.0~dev (git 4b2c0eef17e298af448c22b08631923507cbb105)
// from activations.hpp, losses.hpp, operators.hpp, exponential.hpp, pushforwards.hpp, derive.cpp
// sha256 of the inputs: c202e6a11088e96d76bf17953c6b61c884df1ce134cd5da065221f50a52015fe
// sha256 of the text below: 1cf6a1f8bd266bff69a7c5039e4fd57b9c951e7bce632750a3f24b30fb570184
// To make it again: cargo xtask gradients

#pragma once
#include "../operators.hpp"
#include "../pushforwards.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-but-set-variable"
#pragma GCC diagnostic ignored "-Wunused-variable"
namespace CladTorch::Kernels {

inline float Identity_darg0(float z) {
    float _d_z = 1;
    return _d_z;
}
inline double Identity_darg0(double z) {
    double _d_z = 1;
    return _d_z;
}
inline float Relu_darg0(float z) {
    float _d_z = 1;
    bool _t0 = z <= 0;
    return _t0 ? float(0) : _d_z;
}
inline double Relu_darg0(double z) {
    double _d_z = 1;
    bool _t0 = z <= 0;
    return _t0 ? double(0) : _d_z;
}
inline float LeakyRelu_darg0(float z) {
    float _d_z = 1;
    float _t0 = float(0.01);
    bool _t1 = z > 0;
    return _t1 ? _d_z : _t0 * _d_z;
}
inline double LeakyRelu_darg0(double z) {
    double _d_z = 1;
    double _t0 = double(0.01);
    bool _t1 = z > 0;
    return _t1 ? _d_z : _t0 * _d_z;
}
inline float BinaryCrossEntropy_darg0(float z, float y) {
    float _d_z = 1;
    float _d_y = 0;
    float _d_s = _d_z;
    float s = z;
    float _d_linear = -_d_y * z + -y * _d_z;
    float linear = -y * z;
    if (z > 0) {
        _d_s = -_d_z;
        s = -z;
        float _t0 = (1 - y);
        _d_linear = (0 - _d_y) * z + _t0 * _d_z;
        linear = _t0 * z;
    }
    ValueAndPushforward<float, float> _t1 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(s, _d_s);
    ValueAndPushforward<float, float> _t2 = clad::custom_derivatives::CladTorch::Kernels::Log1pOfUnit_pushforward(_t1.value, _t1.pushforward);
    return _d_linear + _t2.pushforward;
}
inline double BinaryCrossEntropy_darg0(double z, double y) {
    double _d_z = 1;
    double _d_y = 0;
    double _d_s = _d_z;
    double s = z;
    double _d_linear = -_d_y * z + -y * _d_z;
    double linear = -y * z;
    if (z > 0) {
        _d_s = -_d_z;
        s = -z;
        double _t0 = (1 - y);
        _d_linear = (0 - _d_y) * z + _t0 * _d_z;
        linear = _t0 * z;
    }
    ValueAndPushforward<double, double> _t1 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(s, _d_s);
    ValueAndPushforward<double, double> _t2 = clad::custom_derivatives::CladTorch::Kernels::Log1pOfUnit_pushforward(_t1.value, _t1.pushforward);
    return _d_linear + _t2.pushforward;
}
inline float SoftmaxCrossEntropy_darg0(float z, float rest, float target) {
    float _d_z = 1;
    float _d_rest = 0;
    float _d_target = 0;
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::CladTorch::Kernels::Expm1OfNegative_pushforward(z, _d_z);
    ValueAndPushforward<float, float> _t1 = clad::custom_derivatives::std::log1p_pushforward(rest + _t0.value, _d_rest + _t0.pushforward);
    return _t1.pushforward - (_d_target * z + target * _d_z);
}
inline double SoftmaxCrossEntropy_darg0(double z, double rest, double target) {
    double _d_z = 1;
    double _d_rest = 0;
    double _d_target = 0;
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::CladTorch::Kernels::Expm1OfNegative_pushforward(z, _d_z);
    ValueAndPushforward<double, double> _t1 = clad::custom_derivatives::std::log1p_pushforward(rest + _t0.value, _d_rest + _t0.pushforward);
    return _t1.pushforward - (_d_target * z + target * _d_z);
}
inline float SquaredError_darg0(float z, float y) {
    float _d_z = 1;
    float _d_y = 0;
    float _d_d = _d_z - _d_y;
    float d = z - y;
    return _d_d * d + d * _d_d;
}
inline double SquaredError_darg0(double z, double y) {
    double _d_z = 1;
    double _d_y = 0;
    double _d_d = _d_z - _d_y;
    double d = z - y;
    return _d_d * d + d * _d_d;
}
inline float Huber_darg0(float z, float y) {
    float _d_z = 1;
    float _d_y = 0;
    float _d_d = _d_z - _d_y, _d_size = _d_d, _d_bound = 0;
    float d = z - y, size = d, bound = 1;
    if (d < 0) {
        _d_size = -_d_d;
        size = -d;
    }
    if (size < 1) {
        _d_bound = _d_size;
        bound = size;
    }
    float _t0 = float(0.5);
    float _t1 = (size - _t0 * bound);
    return _d_bound * _t1 + bound * (_d_size - (_t0 * _d_bound));
}
inline double Huber_darg0(double z, double y) {
    double _d_z = 1;
    double _d_y = 0;
    double _d_d = _d_z - _d_y, _d_size = _d_d, _d_bound = 0;
    double d = z - y, size = d, bound = 1;
    if (d < 0) {
        _d_size = -_d_d;
        size = -d;
    }
    if (size < 1) {
        _d_bound = _d_size;
        bound = size;
    }
    double _t0 = double(0.5);
    double _t1 = (size - _t0 * bound);
    return _d_bound * _t1 + bound * (_d_size - (_t0 * _d_bound));
}
inline float Focal_darg0(float z, float y, float focus) {
    float _d_z = 1;
    float _d_y = 0;
    float _d_focus = 0;
    float _d_s = _d_z, _d_positive = -_d_z, _d_negative = 0;
    float s = z, positive = -z, negative = 0;
    if (z > 0) {
        _d_s = -_d_z;
        s = -z;
        _d_positive = 0;
        positive = 0;
        _d_negative = _d_z;
        negative = z;
    }
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(s, _d_s);
    ValueAndPushforward<float, float> _t1 = clad::custom_derivatives::CladTorch::Kernels::Log1pOfUnit_pushforward(_t0.value, _t0.pushforward);
    float _d_tail = _t1.pushforward;
    float tail = _t1.value;
    _d_positive = _d_positive + _d_tail;
    positive = positive + tail;
    _d_negative = _d_negative + _d_tail;
    negative = negative + tail;
    ValueAndPushforward<float, float> _t2 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(-focus * negative, -_d_focus * negative + -focus * _d_negative);
    float &_t3 = _t2.value;
    float _t4 = y * _t3;
    float _d_first = (_d_y * _t3 + y * _t2.pushforward) * positive + _t4 * _d_positive;
    float first = _t4 * positive;
    ValueAndPushforward<float, float> _t5 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(-focus * positive, -_d_focus * positive + -focus * _d_positive);
    float _t6 = (1 - y);
    float &_t7 = _t5.value;
    float _t8 = _t6 * _t7;
    float _d_second = ((0 - _d_y) * _t7 + _t6 * _t5.pushforward) * negative + _t8 * _d_negative;
    float second = _t8 * negative;
    return _d_first + _d_second;
}
inline double Focal_darg0(double z, double y, double focus) {
    double _d_z = 1;
    double _d_y = 0;
    double _d_focus = 0;
    double _d_s = _d_z, _d_positive = -_d_z, _d_negative = 0;
    double s = z, positive = -z, negative = 0;
    if (z > 0) {
        _d_s = -_d_z;
        s = -z;
        _d_positive = 0;
        positive = 0;
        _d_negative = _d_z;
        negative = z;
    }
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(s, _d_s);
    ValueAndPushforward<double, double> _t1 = clad::custom_derivatives::CladTorch::Kernels::Log1pOfUnit_pushforward(_t0.value, _t0.pushforward);
    double _d_tail = _t1.pushforward;
    double tail = _t1.value;
    _d_positive = _d_positive + _d_tail;
    positive = positive + tail;
    _d_negative = _d_negative + _d_tail;
    negative = negative + tail;
    ValueAndPushforward<double, double> _t2 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(-focus * negative, -_d_focus * negative + -focus * _d_negative);
    double &_t3 = _t2.value;
    double _t4 = y * _t3;
    double _d_first = (_d_y * _t3 + y * _t2.pushforward) * positive + _t4 * _d_positive;
    double first = _t4 * positive;
    ValueAndPushforward<double, double> _t5 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(-focus * positive, -_d_focus * positive + -focus * _d_positive);
    double _t6 = (1 - y);
    double &_t7 = _t5.value;
    double _t8 = _t6 * _t7;
    double _d_second = ((0 - _d_y) * _t7 + _t6 * _t5.pushforward) * negative + _t8 * _d_negative;
    double second = _t8 * negative;
    return _d_first + _d_second;
}
inline float Quantile_darg0(float z, float y, float share) {
    float _d_z = 1;
    float _d_y = 0;
    float _d_share = 0;
    float _d_slope = -_d_share;
    float slope = -share;
    if (z > y) {
        _d_slope = 0 - _d_share;
        slope = 1 - share;
    }
    float _t0 = (z - y);
    return _d_slope * _t0 + slope * (_d_z - _d_y);
}
inline double Quantile_darg0(double z, double y, double share) {
    double _d_z = 1;
    double _d_y = 0;
    double _d_share = 0;
    double _d_slope = -_d_share;
    double slope = -share;
    if (z > y) {
        _d_slope = 0 - _d_share;
        slope = 1 - share;
    }
    double _t0 = (z - y);
    return _d_slope * _t0 + slope * (_d_z - _d_y);
}
inline float Gaussian_darg0(float z, float s, float y, float least) {
    float _d_z = 1;
    float _d_s = 0;
    float _d_y = 0;
    float _d_least = 0;
    float _d_d = _d_z - _d_y, _d_level = _d_s, _d_excess = 0;
    float d = z - y, level = s, excess = 1;
    if (s < least) {
        _d_level = _d_least;
        level = least;
        _d_excess = _d_least - _d_s;
        excess = 1 + least - s;
    }
    float _t0 = excess * d;
    float _t1 = ExpOfAny(-level);
    float _t2 = float(0.5);
    return _t2 * (_d_level + ((_d_excess * d + excess * _d_d) * d + _t0 * _d_d) * _t1);
}
inline double Gaussian_darg0(double z, double s, double y, double least) {
    double _d_z = 1;
    double _d_s = 0;
    double _d_y = 0;
    double _d_least = 0;
    double _d_d = _d_z - _d_y, _d_level = _d_s, _d_excess = 0;
    double d = z - y, level = s, excess = 1;
    if (s < least) {
        _d_level = _d_least;
        level = least;
        _d_excess = _d_least - _d_s;
        excess = 1 + least - s;
    }
    double _t0 = excess * d;
    double _t1 = ExpOfAny(-level);
    double _t2 = double(0.5);
    return _t2 * (_d_level + ((_d_excess * d + excess * _d_d) * d + _t0 * _d_d) * _t1);
}
inline float Gaussian_darg1(float z, float s, float y, float least) {
    float _d_z = 0;
    float _d_s = 1;
    float _d_y = 0;
    float _d_least = 0;
    float _d_d = _d_z - _d_y, _d_level = _d_s, _d_excess = 0;
    float d = z - y, level = s, excess = 1;
    if (s < least) {
        _d_level = _d_least;
        level = least;
        _d_excess = _d_least - _d_s;
        excess = 1 + least - s;
    }
    float _t0 = excess * d;
    ValueAndPushforward<float, float> _t1 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(-level, -_d_level);
    float _t2 = _t0 * d;
    float &_t3 = _t1.value;
    float _t4 = float(0.5);
    return _t4 * (_d_level + ((_d_excess * d + excess * _d_d) * d + _t0 * _d_d) * _t3 + _t2 * _t1.pushforward);
}
inline double Gaussian_darg1(double z, double s, double y, double least) {
    double _d_z = 0;
    double _d_s = 1;
    double _d_y = 0;
    double _d_least = 0;
    double _d_d = _d_z - _d_y, _d_level = _d_s, _d_excess = 0;
    double d = z - y, level = s, excess = 1;
    if (s < least) {
        _d_level = _d_least;
        level = least;
        _d_excess = _d_least - _d_s;
        excess = 1 + least - s;
    }
    double _t0 = excess * d;
    ValueAndPushforward<double, double> _t1 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(-level, -_d_level);
    double _t2 = _t0 * d;
    double &_t3 = _t1.value;
    double _t4 = double(0.5);
    return _t4 * (_d_level + ((_d_excess * d + excess * _d_d) * d + _t0 * _d_d) * _t3 + _t2 * _t1.pushforward);
}
inline clad::ValueAndPushforward<float, float> Identity_pushforward(float z, float _d_z) {
    return {z, _d_z};
}
inline clad::ValueAndPushforward<float, float> Neg_pushforward(float z, float _d_z) {
    return {-z, -_d_z};
}
inline clad::ValueAndPushforward<float, float> Reciprocal_pushforward(float z, float _d_z) {
    return {1 / z, (0 - _d_z) / (z * z)};
}
inline clad::ValueAndPushforward<float, float> Squared_pushforward(float z, float _d_z) {
    return {z * z, _d_z * z + z * _d_z};
}
inline clad::ValueAndPushforward<float, float> Sqrt_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::sqrt_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Rsqrt_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::sqrt_pushforward(z, _d_z);
    float &_t1 = _t0.value;
    return {1 / _t1, (0 - _t0.pushforward) / (_t1 * _t1)};
}
inline clad::ValueAndPushforward<float, float> Exp_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Tanh_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::CladTorch::Kernels::HyperbolicTangent_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Abs_pushforward(float z, float _d_z) {
    if (z > 0)
        return {z, _d_z};
    if (z < 0)
        return {-z, -_d_z};
    return {z - z, _d_z - _d_z};
}
inline clad::ValueAndPushforward<float, float> Relu_pushforward(float z, float _d_z) {
    bool _t0 = z <= 0;
    return {_t0 ? float(0) : z, _t0 ? float(0) : _d_z};
}
inline clad::ValueAndPushforward<float, float> Sigmoid_pushforward(float z, float _d_z) {
    float _d_s = _d_z;
    float s = z;
    if (z >= 0) {
        _d_s = -_d_z;
        s = -z;
    }
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(s, _d_s);
    float _d_e = _t0.pushforward, _d_numerator = 0;
    float e = _t0.value, numerator = 1;
    if (z < 0) {
        _d_numerator = _d_e;
        numerator = e;
    }
    float _t1 = (1 + e);
    return {numerator / _t1, (_d_numerator * _t1 - numerator * _d_e) / (_t1 * _t1)};
}
inline clad::ValueAndPushforward<float, float> Silu_pushforward(float z, float _d_z) {
    clad::ValueAndPushforward<float, float> _t0 = CladTorch::Kernels::Sigmoid_pushforward(z, _d_z);
    float &_t1 = _t0.value;
    return {z * _t1, _d_z * _t1 + z * _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Gelu_pushforward(float z, float _d_z) {
    float _t0 = float(0.5);
    float _t1 = float(-0.70710678118654757);
    ValueAndPushforward<float, float> _t2 = clad::custom_derivatives::CladTorch::Kernels::Erfc_pushforward(z * _t1, _d_z * _t1);
    float _t3 = _t0 * z;
    float &_t4 = _t2.value;
    return {_t3 * _t4, (_t0 * _d_z) * _t4 + _t3 * _t2.pushforward};
}
inline clad::ValueAndPushforward<float, float> GeluTanh_pushforward(float z, float _d_z) {
    float _t0 = float(0.044714999999999998);
    float _t1 = _t0 * z;
    float _t2 = _t1 * z;
    float _t3 = float(0.79788456080286541);
    float _d_inner = _t3 * (_d_z + ((_t0 * _d_z) * z + _t1 * _d_z) * z + _t2 * _d_z);
    float inner = _t3 * (z + _t2 * z);
    float _t4 = float(0.5);
    ValueAndPushforward<float, float> _t5 = clad::custom_derivatives::CladTorch::Kernels::HyperbolicTangent_pushforward(inner, _d_inner);
    float _t6 = _t4 * z;
    float _t7 = (1 + _t5.value);
    return {_t6 * _t7, (_t4 * _d_z) * _t7 + _t6 * _t5.pushforward};
}
inline clad::ValueAndPushforward<float, float> Softplus_pushforward(float z, float _d_z) {
    float _d_s = _d_z, _d_linear = 0;
    float s = z, linear = 0;
    if (z > 0) {
        _d_s = -_d_z;
        s = -z;
        _d_linear = _d_z;
        linear = z;
    }
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(s, _d_s);
    ValueAndPushforward<float, float> _t1 = clad::custom_derivatives::CladTorch::Kernels::Log1pOfUnit_pushforward(_t0.value, _t0.pushforward);
    return {linear + _t1.value, _d_linear + _t1.pushforward};
}
inline clad::ValueAndPushforward<float, float> LogSigmoid_pushforward(float z, float _d_z) {
    clad::ValueAndPushforward<float, float> _t0 = CladTorch::Kernels::Softplus_pushforward(-z, -_d_z);
    return {0 - _t0.value, 0 - _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Expm1_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::expm1_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Exp2_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::exp2_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Log_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::log_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Log1p_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::log1p_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Log2_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::log2_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Log10_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::log10_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Sin_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::sin_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Cos_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::cos_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Tan_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::tan_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Asin_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::asin_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Acos_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::acos_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Atan_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::atan_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Sinh_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::sinh_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Cosh_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::cosh_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Asinh_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::asinh_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Acosh_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::acosh_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Atanh_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::atanh_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> Erf_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::erf_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<float, float> ErfComplement_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::erfc_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline void Add_pullback(float a, float b, float _d_y, float *_d_a, float *_d_b) {
    {
        *_d_a += _d_y;
        *_d_b += _d_y;
    }
}
inline void Sub_pullback(float a, float b, float _d_y, float *_d_a, float *_d_b) {
    {
        *_d_a += _d_y;
        *_d_b += -_d_y;
    }
}
inline void Mul_pullback(float a, float b, float _d_y, float *_d_a, float *_d_b) {
    {
        *_d_a += _d_y * b;
        *_d_b += a * _d_y;
    }
}
inline void Maximum_pullback(float a, float b, float _d_y, float *_d_a, float *_d_b) {
    bool _cond0;
    bool _cond1;
    bool _cond2;
    bool _cond3;
    float _d_m = 0.F;
    float m = a + b;
    {
        _cond0 = a > b;
        if (_cond0)
            m = a;
        else {
            _cond1 = b > a;
            if (_cond1)
                m = b;
            else {
                _cond2 = a == b;
                if (_cond2) {
                    _cond3 = std::abs(a) < 1;
                    m = _cond3 ? a + (b - a) / 2 : a / 2 + b / 2;
                }
            }
        }
    }
    _d_m += _d_y;
    if (_cond0) {
        *_d_a += _d_m;
        _d_m = 0.F;
    } else if (_cond1) {
        *_d_b += _d_m;
        _d_m = 0.F;
    } else if (_cond2) {
        if (_cond3) {
            *_d_a += _d_m;
            *_d_b += _d_m / 2;
            *_d_a += -_d_m / 2;
        } else {
            *_d_a += _d_m / 2;
            *_d_b += _d_m / 2;
        }
        _d_m = 0.F;
    }
    {
        *_d_a += _d_m;
        *_d_b += _d_m;
    }
}
inline void Minimum_pullback(float a, float b, float _d_y, float *_d_a, float *_d_b) {
    bool _cond0;
    bool _cond1;
    bool _cond2;
    bool _cond3;
    float _d_m = 0.F;
    float m = a + b;
    {
        _cond0 = a < b;
        if (_cond0)
            m = a;
        else {
            _cond1 = b < a;
            if (_cond1)
                m = b;
            else {
                _cond2 = a == b;
                if (_cond2) {
                    _cond3 = std::abs(a) < 1;
                    m = _cond3 ? a + (b - a) / 2 : a / 2 + b / 2;
                }
            }
        }
    }
    _d_m += _d_y;
    if (_cond0) {
        *_d_a += _d_m;
        _d_m = 0.F;
    } else if (_cond1) {
        *_d_b += _d_m;
        _d_m = 0.F;
    } else if (_cond2) {
        if (_cond3) {
            *_d_a += _d_m;
            *_d_b += _d_m / 2;
            *_d_a += -_d_m / 2;
        } else {
            *_d_a += _d_m / 2;
            *_d_b += _d_m / 2;
        }
        _d_m = 0.F;
    }
    {
        *_d_a += _d_m;
        *_d_b += _d_m;
    }
}
inline void ClampMin_pullback(float z, float low, float _d_y, float *_d_z, float *_d_low) {
    bool _cond0;
    bool _cond1;
    float _d_m = 0.F;
    float m = std::numeric_limits<float>::quiet_NaN();
    {
        _cond0 = z >= low;
        if (_cond0)
            m = z;
        else {
            _cond1 = z < low;
            if (_cond1)
                m = low;
        }
    }
    _d_m += _d_y;
    if (_cond0) {
        *_d_z += _d_m;
        _d_m = 0.F;
    } else if (_cond1) {
        *_d_low += _d_m;
        _d_m = 0.F;
    }
}
inline void ClampMax_pullback(float z, float high, float _d_y, float *_d_z, float *_d_high) {
    bool _cond0;
    bool _cond1;
    float _d_m = 0.F;
    float m = std::numeric_limits<float>::quiet_NaN();
    {
        _cond0 = z <= high;
        if (_cond0)
            m = z;
        else {
            _cond1 = z > high;
            if (_cond1)
                m = high;
        }
    }
    _d_m += _d_y;
    if (_cond0) {
        *_d_z += _d_m;
        _d_m = 0.F;
    } else if (_cond1) {
        *_d_high += _d_m;
        _d_m = 0.F;
    }
}
inline void Leaky_pullback(float z, float slope, float _d_y, float *_d_z, float *_d_slope) {
    bool _cond0;
    float _d_factor = 0.F;
    float factor = slope;
    {
        _cond0 = z > 0;
        if (_cond0)
            factor = 1;
    }
    {
        _d_factor += _d_y * z;
        *_d_z += factor * _d_y;
    }
    if (_cond0)
        _d_factor = 0.F;
    *_d_slope += _d_factor;
}
inline clad::ValueAndPushforward<float, float> EluBelowZero_pushforward(float z, float _d_z) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::CladTorch::Kernels::Expm1OfNegative_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline void Elu_pullback(float z, float alpha, float _d_y, float *_d_z, float *_d_alpha) {
    bool _cond0;
    float _t0;
    float _d_m = 0.F;
    float m = z;
    {
        _cond0 = !(z > 0);
        if (_cond0) {
            _t0 = EluBelowZero(z);
            m = alpha * _t0;
        }
    }
    _d_m += _d_y;
    if (_cond0) {
        *_d_alpha += _d_m * _t0;
        float _r0 = 0.F;
        _r0 += alpha * _d_m * CladTorch::Kernels::EluBelowZero_pushforward(z, 1.F).pushforward;
        *_d_z += _r0;
        _d_m = 0.F;
    }
    *_d_z += _d_m;
}
inline void SoftplusBelow_pullback(float z, float threshold, float _d_y, float *_d_z, float *_d_threshold) {
    bool _cond0;
    float _d_m = 0.F;
    float m = z;
    {
        _cond0 = !(z > threshold);
        if (_cond0)
            m = Softplus(z);
    }
    _d_m += _d_y;
    if (_cond0) {
        float _r0 = 0.F;
        _r0 += _d_m * CladTorch::Kernels::Softplus_pushforward(z, 1.F).pushforward;
        *_d_z += _r0;
        _d_m = 0.F;
    }
    *_d_z += _d_m;
}
inline clad::ValueAndPushforward<float, float> SoftplusBelowZero_pushforward(float s, float _d_s) {
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(s, _d_s);
    ValueAndPushforward<float, float> _t1 = clad::custom_derivatives::CladTorch::Kernels::Log1pOfUnit_pushforward(_t0.value, _t0.pushforward);
    return {_t1.value, _t1.pushforward};
}
inline void LogitLoss_pullback(float z, float y, float _d_y0, float *_d_z, float *_d_y) {
    bool _cond0;
    float _d_s = 0.F;
    float s = z;
    float _d_factor = 0.F;
    float factor = -y;
    {
        _cond0 = z > 0;
        if (_cond0) {
            s = -z;
            factor = 1 - y;
        }
    }
    float _d_linear = 0.F;
    float linear = factor * z;
    {
        _d_linear += _d_y0;
        float _r0 = 0.F;
        _r0 += _d_y0 * CladTorch::Kernels::SoftplusBelowZero_pushforward(s, 1.F).pushforward;
        _d_s += _r0;
    }
    {
        _d_factor += _d_linear * z;
        *_d_z += factor * _d_linear;
    }
    if (_cond0) {
        {
            *_d_y += -_d_factor;
            _d_factor = 0.F;
        }
        {
            *_d_z += -_d_s;
            _d_s = 0.F;
        }
    }
    *_d_y += -_d_factor;
    *_d_z += _d_s;
}
inline void HuberLoss_pullback(float d, float delta, float _d_y, float *_d_d, float *_d_delta) {
    bool _cond0;
    bool _cond1;
    float _d_m = 0.F;
    float m;
    {
        _cond0 = d >= delta;
        if (_cond0)
            m = delta * (d - float(0.5) * delta);
        else {
            _cond1 = d <= -delta;
            if (_cond1)
                m = delta * (-d - float(0.5) * delta);
            else
                m = float(0.5) * d * d;
        }
    }
    _d_m += _d_y;
    if (_cond0) {
        *_d_delta += _d_m * (d - float(0.5) * delta);
        *_d_d += delta * _d_m;
        *_d_delta += float(0.5) * -delta * _d_m;
        _d_m = 0.F;
    } else if (_cond1) {
        *_d_delta += _d_m * (-d - float(0.5) * delta);
        *_d_d += -delta * _d_m;
        *_d_delta += float(0.5) * -delta * _d_m;
        _d_m = 0.F;
    } else {
        *_d_d += float(0.5) * _d_m * d;
        *_d_d += float(0.5) * d * _d_m;
        _d_m = 0.F;
    }
}
inline void SmoothLoss_pullback(float d, float beta, float _d_y, float *_d_d, float *_d_beta) {
    bool _cond0;
    bool _cond1;
    float _d_m = 0.F;
    float m;
    {
        _cond0 = d >= beta;
        if (_cond0)
            m = d - float(0.5) * beta;
        else {
            _cond1 = d <= -beta;
            if (_cond1)
                m = -d - float(0.5) * beta;
            else
                m = float(0.5) * d * d / beta;
        }
    }
    _d_m += _d_y;
    if (_cond0) {
        *_d_d += _d_m;
        *_d_beta += float(0.5) * -_d_m;
        _d_m = 0.F;
    } else if (_cond1) {
        *_d_d += -_d_m;
        *_d_beta += float(0.5) * -_d_m;
        _d_m = 0.F;
    } else {
        *_d_d += float(0.5) * _d_m / beta * d;
        *_d_d += float(0.5) * d * _d_m / beta;
        float _r0 = _d_m * -(float(0.5) * d * d / (beta * beta));
        *_d_beta += _r0;
        _d_m = 0.F;
    }
}
inline void FiniteOr_pullback(float z, float other, float _d_y, float *_d_z, float *_d_other) {
    bool _cond0;
    bool _cond1;
    bool _cond2;
    float _d_greatest = 0.F;
    const float greatest = std::numeric_limits<float>::max();
    float _d_m = 0.F;
    float m = z;
    {
        _cond0 = z != z;
        if (_cond0)
            m = other;
    }
    {
        _cond1 = z > greatest;
        if (_cond1)
            m = greatest;
    }
    {
        _cond2 = z < -greatest;
        if (_cond2)
            m = -greatest;
    }
    _d_m += _d_y;
    if (_cond2) {
        _d_greatest += -_d_m;
        _d_m = 0.F;
    }
    if (_cond1) {
        _d_greatest += _d_m;
        _d_m = 0.F;
    }
    if (_cond0) {
        *_d_other += _d_m;
        _d_m = 0.F;
    }
    *_d_z += _d_m;
}
inline void Where_pullback(float c, float a, float b, float _d_y, float *_d_c, float *_d_a, float *_d_b) {
    bool _cond0 = c != 0;
    if (_cond0)
        *_d_a += _d_y;
    else
        *_d_b += _d_y;
}
inline void Clamp_pullback(float z, float low, float high, float _d_y, float *_d_z, float *_d_low, float *_d_high) {
    bool _cond0;
    bool _cond1;
    bool _cond2;
    bool _cond3;
    float _d_m = 0.F;
    float m = std::numeric_limits<float>::quiet_NaN();
    {
        _cond0 = z == z;
        if (_cond0) {
            m = z;
            {
                _cond1 = low > high;
                if (_cond1)
                    m = high;
                else {
                    _cond2 = z > high;
                    if (_cond2)
                        m = high;
                    else {
                        _cond3 = z < low;
                        if (_cond3)
                            m = low;
                    }
                }
            }
        }
    }
    _d_m += _d_y;
    if (_cond0) {
        if (_cond1) {
            *_d_high += _d_m;
            _d_m = 0.F;
        } else if (_cond2) {
            *_d_high += _d_m;
            _d_m = 0.F;
        } else if (_cond3) {
            *_d_low += _d_m;
            _d_m = 0.F;
        }
        {
            *_d_z += _d_m;
            _d_m = 0.F;
        }
    }
}
inline void EveryOperator_grad(float a, float b, float c, float *_d_a, float *_d_b, float *_d_c) {
    float _d_sum = 0.F;
    float sum = 0;
    sum += Identity(a);
    sum += Neg(a);
    sum += Reciprocal(a);
    sum += Squared(a);
    sum += Sqrt(a);
    sum += Rsqrt(a);
    sum += Exp(a);
    sum += Tanh(a);
    sum += Abs(a);
    sum += Relu(a);
    sum += Sigmoid(a);
    sum += Silu(a);
    sum += Gelu(a);
    sum += GeluTanh(a);
    sum += LogSigmoid(a);
    sum += Expm1(a);
    sum += Exp2(a);
    sum += Log(a);
    sum += Log1p(a);
    sum += Log2(a);
    sum += Log10(a);
    sum += Sin(a);
    sum += Cos(a);
    sum += Tan(a);
    sum += Asin(a);
    sum += Acos(a);
    sum += Atan(a);
    sum += Sinh(a);
    sum += Cosh(a);
    sum += Asinh(a);
    sum += Acosh(a);
    sum += Atanh(a);
    sum += Erf(a);
    sum += ErfComplement(a);
    sum += Add(a, b);
    sum += Sub(a, b);
    sum += Mul(a, b);
    sum += Div(a, b);
    sum += Maximum(a, b);
    sum += Minimum(a, b);
    sum += ClampMin(a, b);
    sum += ClampMax(a, b);
    sum += Leaky(a, b);
    sum += Elu(a, b);
    sum += SoftplusBelow(a, b);
    sum += LogitLoss(a, b);
    sum += HuberLoss(a, b);
    sum += SmoothLoss(a, b);
    sum += Remainder(a, b);
    sum += Fmod(a, b);
    sum += Hypot(a, b);
    sum += FiniteOr(a, b);
    sum += Pow(a, b);
    sum += Atan2(a, b);
    sum += LogAddExp(a, b);
    sum += Xlogy(a, b);
    sum += Where(a, b, c);
    sum += Clamp(a, b, c);
    _d_sum += 1;
    {
        float _r65 = 0.F;
        float _r66 = 0.F;
        float _r67 = 0.F;
        CladTorch::Kernels::Clamp_pullback(a, b, c, _d_sum, &_r65, &_r66, &_r67);
        *_d_a += _r65;
        *_d_b += _r66;
        *_d_c += _r67;
    }
    {
        float _r62 = 0.F;
        float _r63 = 0.F;
        float _r64 = 0.F;
        CladTorch::Kernels::Where_pullback(a, b, c, _d_sum, &_r62, &_r63, &_r64);
        *_d_a += _r62;
        *_d_b += _r63;
        *_d_c += _r64;
    }
    {
        float _r60 = 0.F;
        float _r61 = 0.F;
        CladTorch::Kernels::FiniteOr_pullback(a, b, _d_sum, &_r60, &_r61);
        *_d_a += _r60;
        *_d_b += _r61;
    }
    {
        float _r58 = 0.F;
        float _r59 = 0.F;
        CladTorch::Kernels::SmoothLoss_pullback(a, b, _d_sum, &_r58, &_r59);
        *_d_a += _r58;
        *_d_b += _r59;
    }
    {
        float _r56 = 0.F;
        float _r57 = 0.F;
        CladTorch::Kernels::HuberLoss_pullback(a, b, _d_sum, &_r56, &_r57);
        *_d_a += _r56;
        *_d_b += _r57;
    }
    {
        float _r54 = 0.F;
        float _r55 = 0.F;
        CladTorch::Kernels::LogitLoss_pullback(a, b, _d_sum, &_r54, &_r55);
        *_d_a += _r54;
        *_d_b += _r55;
    }
    {
        float _r52 = 0.F;
        float _r53 = 0.F;
        CladTorch::Kernels::SoftplusBelow_pullback(a, b, _d_sum, &_r52, &_r53);
        *_d_a += _r52;
        *_d_b += _r53;
    }
    {
        float _r50 = 0.F;
        float _r51 = 0.F;
        CladTorch::Kernels::Elu_pullback(a, b, _d_sum, &_r50, &_r51);
        *_d_a += _r50;
        *_d_b += _r51;
    }
    {
        float _r48 = 0.F;
        float _r49 = 0.F;
        CladTorch::Kernels::Leaky_pullback(a, b, _d_sum, &_r48, &_r49);
        *_d_a += _r48;
        *_d_b += _r49;
    }
    {
        float _r46 = 0.F;
        float _r47 = 0.F;
        CladTorch::Kernels::ClampMax_pullback(a, b, _d_sum, &_r46, &_r47);
        *_d_a += _r46;
        *_d_b += _r47;
    }
    {
        float _r44 = 0.F;
        float _r45 = 0.F;
        CladTorch::Kernels::ClampMin_pullback(a, b, _d_sum, &_r44, &_r45);
        *_d_a += _r44;
        *_d_b += _r45;
    }
    {
        float _r42 = 0.F;
        float _r43 = 0.F;
        CladTorch::Kernels::Minimum_pullback(a, b, _d_sum, &_r42, &_r43);
        *_d_a += _r42;
        *_d_b += _r43;
    }
    {
        float _r40 = 0.F;
        float _r41 = 0.F;
        CladTorch::Kernels::Maximum_pullback(a, b, _d_sum, &_r40, &_r41);
        *_d_a += _r40;
        *_d_b += _r41;
    }
    {
        float _r38 = 0.F;
        float _r39 = 0.F;
        CladTorch::Kernels::Mul_pullback(a, b, _d_sum, &_r38, &_r39);
        *_d_a += _r38;
        *_d_b += _r39;
    }
    {
        float _r36 = 0.F;
        float _r37 = 0.F;
        CladTorch::Kernels::Sub_pullback(a, b, _d_sum, &_r36, &_r37);
        *_d_a += _r36;
        *_d_b += _r37;
    }
    {
        float _r34 = 0.F;
        float _r35 = 0.F;
        CladTorch::Kernels::Add_pullback(a, b, _d_sum, &_r34, &_r35);
        *_d_a += _r34;
        *_d_b += _r35;
    }
    {
        float _r33 = 0.F;
        _r33 += _d_sum * CladTorch::Kernels::ErfComplement_pushforward(a, 1.F).pushforward;
        *_d_a += _r33;
    }
    {
        float _r32 = 0.F;
        _r32 += _d_sum * CladTorch::Kernels::Erf_pushforward(a, 1.F).pushforward;
        *_d_a += _r32;
    }
    {
        float _r31 = 0.F;
        _r31 += _d_sum * CladTorch::Kernels::Atanh_pushforward(a, 1.F).pushforward;
        *_d_a += _r31;
    }
    {
        float _r30 = 0.F;
        _r30 += _d_sum * CladTorch::Kernels::Acosh_pushforward(a, 1.F).pushforward;
        *_d_a += _r30;
    }
    {
        float _r29 = 0.F;
        _r29 += _d_sum * CladTorch::Kernels::Asinh_pushforward(a, 1.F).pushforward;
        *_d_a += _r29;
    }
    {
        float _r28 = 0.F;
        _r28 += _d_sum * CladTorch::Kernels::Cosh_pushforward(a, 1.F).pushforward;
        *_d_a += _r28;
    }
    {
        float _r27 = 0.F;
        _r27 += _d_sum * CladTorch::Kernels::Sinh_pushforward(a, 1.F).pushforward;
        *_d_a += _r27;
    }
    {
        float _r26 = 0.F;
        _r26 += _d_sum * CladTorch::Kernels::Atan_pushforward(a, 1.F).pushforward;
        *_d_a += _r26;
    }
    {
        float _r25 = 0.F;
        _r25 += _d_sum * CladTorch::Kernels::Acos_pushforward(a, 1.F).pushforward;
        *_d_a += _r25;
    }
    {
        float _r24 = 0.F;
        _r24 += _d_sum * CladTorch::Kernels::Asin_pushforward(a, 1.F).pushforward;
        *_d_a += _r24;
    }
    {
        float _r23 = 0.F;
        _r23 += _d_sum * CladTorch::Kernels::Tan_pushforward(a, 1.F).pushforward;
        *_d_a += _r23;
    }
    {
        float _r22 = 0.F;
        _r22 += _d_sum * CladTorch::Kernels::Cos_pushforward(a, 1.F).pushforward;
        *_d_a += _r22;
    }
    {
        float _r21 = 0.F;
        _r21 += _d_sum * CladTorch::Kernels::Sin_pushforward(a, 1.F).pushforward;
        *_d_a += _r21;
    }
    {
        float _r20 = 0.F;
        _r20 += _d_sum * CladTorch::Kernels::Log10_pushforward(a, 1.F).pushforward;
        *_d_a += _r20;
    }
    {
        float _r19 = 0.F;
        _r19 += _d_sum * CladTorch::Kernels::Log2_pushforward(a, 1.F).pushforward;
        *_d_a += _r19;
    }
    {
        float _r18 = 0.F;
        _r18 += _d_sum * CladTorch::Kernels::Log1p_pushforward(a, 1.F).pushforward;
        *_d_a += _r18;
    }
    {
        float _r17 = 0.F;
        _r17 += _d_sum * CladTorch::Kernels::Log_pushforward(a, 1.F).pushforward;
        *_d_a += _r17;
    }
    {
        float _r16 = 0.F;
        _r16 += _d_sum * CladTorch::Kernels::Exp2_pushforward(a, 1.F).pushforward;
        *_d_a += _r16;
    }
    {
        float _r15 = 0.F;
        _r15 += _d_sum * CladTorch::Kernels::Expm1_pushforward(a, 1.F).pushforward;
        *_d_a += _r15;
    }
    {
        float _r14 = 0.F;
        _r14 += _d_sum * CladTorch::Kernels::LogSigmoid_pushforward(a, 1.F).pushforward;
        *_d_a += _r14;
    }
    {
        float _r13 = 0.F;
        _r13 += _d_sum * CladTorch::Kernels::GeluTanh_pushforward(a, 1.F).pushforward;
        *_d_a += _r13;
    }
    {
        float _r12 = 0.F;
        _r12 += _d_sum * CladTorch::Kernels::Gelu_pushforward(a, 1.F).pushforward;
        *_d_a += _r12;
    }
    {
        float _r11 = 0.F;
        _r11 += _d_sum * CladTorch::Kernels::Silu_pushforward(a, 1.F).pushforward;
        *_d_a += _r11;
    }
    {
        float _r10 = 0.F;
        _r10 += _d_sum * CladTorch::Kernels::Sigmoid_pushforward(a, 1.F).pushforward;
        *_d_a += _r10;
    }
    {
        float _r9 = 0.F;
        _r9 += _d_sum * CladTorch::Kernels::Relu_pushforward(a, 1.F).pushforward;
        *_d_a += _r9;
    }
    {
        float _r8 = 0.F;
        _r8 += _d_sum * CladTorch::Kernels::Abs_pushforward(a, 1.F).pushforward;
        *_d_a += _r8;
    }
    {
        float _r7 = 0.F;
        _r7 += _d_sum * CladTorch::Kernels::Tanh_pushforward(a, 1.F).pushforward;
        *_d_a += _r7;
    }
    {
        float _r6 = 0.F;
        _r6 += _d_sum * CladTorch::Kernels::Exp_pushforward(a, 1.F).pushforward;
        *_d_a += _r6;
    }
    {
        float _r5 = 0.F;
        _r5 += _d_sum * CladTorch::Kernels::Rsqrt_pushforward(a, 1.F).pushforward;
        *_d_a += _r5;
    }
    {
        float _r4 = 0.F;
        _r4 += _d_sum * CladTorch::Kernels::Sqrt_pushforward(a, 1.F).pushforward;
        *_d_a += _r4;
    }
    {
        float _r3 = 0.F;
        _r3 += _d_sum * CladTorch::Kernels::Squared_pushforward(a, 1.F).pushforward;
        *_d_a += _r3;
    }
    {
        float _r2 = 0.F;
        _r2 += _d_sum * CladTorch::Kernels::Reciprocal_pushforward(a, 1.F).pushforward;
        *_d_a += _r2;
    }
    {
        float _r1 = 0.F;
        _r1 += _d_sum * CladTorch::Kernels::Neg_pushforward(a, 1.F).pushforward;
        *_d_a += _r1;
    }
    {
        float _r0 = 0.F;
        _r0 += _d_sum * CladTorch::Kernels::Identity_pushforward(a, 1.F).pushforward;
        *_d_a += _r0;
    }
}
inline clad::ValueAndPushforward<double, double> Identity_pushforward(double z, double _d_z) {
    return {z, _d_z};
}
inline clad::ValueAndPushforward<double, double> Neg_pushforward(double z, double _d_z) {
    return {-z, -_d_z};
}
inline clad::ValueAndPushforward<double, double> Reciprocal_pushforward(double z, double _d_z) {
    return {1 / z, (0 - _d_z) / (z * z)};
}
inline clad::ValueAndPushforward<double, double> Squared_pushforward(double z, double _d_z) {
    return {z * z, _d_z * z + z * _d_z};
}
inline clad::ValueAndPushforward<double, double> Sqrt_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::sqrt_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Rsqrt_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::sqrt_pushforward(z, _d_z);
    double &_t1 = _t0.value;
    return {1 / _t1, (0 - _t0.pushforward) / (_t1 * _t1)};
}
inline clad::ValueAndPushforward<double, double> Exp_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Tanh_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::CladTorch::Kernels::HyperbolicTangent_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Abs_pushforward(double z, double _d_z) {
    if (z > 0)
        return {z, _d_z};
    if (z < 0)
        return {-z, -_d_z};
    return {z - z, _d_z - _d_z};
}
inline clad::ValueAndPushforward<double, double> Relu_pushforward(double z, double _d_z) {
    bool _t0 = z <= 0;
    return {_t0 ? double(0) : z, _t0 ? double(0) : _d_z};
}
inline clad::ValueAndPushforward<double, double> Sigmoid_pushforward(double z, double _d_z) {
    double _d_s = _d_z;
    double s = z;
    if (z >= 0) {
        _d_s = -_d_z;
        s = -z;
    }
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(s, _d_s);
    double _d_e = _t0.pushforward, _d_numerator = 0;
    double e = _t0.value, numerator = 1;
    if (z < 0) {
        _d_numerator = _d_e;
        numerator = e;
    }
    double _t1 = (1 + e);
    return {numerator / _t1, (_d_numerator * _t1 - numerator * _d_e) / (_t1 * _t1)};
}
inline clad::ValueAndPushforward<double, double> Silu_pushforward(double z, double _d_z) {
    clad::ValueAndPushforward<double, double> _t0 = CladTorch::Kernels::Sigmoid_pushforward(z, _d_z);
    double &_t1 = _t0.value;
    return {z * _t1, _d_z * _t1 + z * _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Gelu_pushforward(double z, double _d_z) {
    double _t0 = double(0.5);
    double _t1 = double(-0.70710678118654757);
    ValueAndPushforward<double, double> _t2 = clad::custom_derivatives::CladTorch::Kernels::Erfc_pushforward(z * _t1, _d_z * _t1);
    double _t3 = _t0 * z;
    double &_t4 = _t2.value;
    return {_t3 * _t4, (_t0 * _d_z) * _t4 + _t3 * _t2.pushforward};
}
inline clad::ValueAndPushforward<double, double> GeluTanh_pushforward(double z, double _d_z) {
    double _t0 = double(0.044714999999999998);
    double _t1 = _t0 * z;
    double _t2 = _t1 * z;
    double _t3 = double(0.79788456080286541);
    double _d_inner = _t3 * (_d_z + ((_t0 * _d_z) * z + _t1 * _d_z) * z + _t2 * _d_z);
    double inner = _t3 * (z + _t2 * z);
    double _t4 = double(0.5);
    ValueAndPushforward<double, double> _t5 = clad::custom_derivatives::CladTorch::Kernels::HyperbolicTangent_pushforward(inner, _d_inner);
    double _t6 = _t4 * z;
    double _t7 = (1 + _t5.value);
    return {_t6 * _t7, (_t4 * _d_z) * _t7 + _t6 * _t5.pushforward};
}
inline clad::ValueAndPushforward<double, double> Softplus_pushforward(double z, double _d_z) {
    double _d_s = _d_z, _d_linear = 0;
    double s = z, linear = 0;
    if (z > 0) {
        _d_s = -_d_z;
        s = -z;
        _d_linear = _d_z;
        linear = z;
    }
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(s, _d_s);
    ValueAndPushforward<double, double> _t1 = clad::custom_derivatives::CladTorch::Kernels::Log1pOfUnit_pushforward(_t0.value, _t0.pushforward);
    return {linear + _t1.value, _d_linear + _t1.pushforward};
}
inline clad::ValueAndPushforward<double, double> LogSigmoid_pushforward(double z, double _d_z) {
    clad::ValueAndPushforward<double, double> _t0 = CladTorch::Kernels::Softplus_pushforward(-z, -_d_z);
    return {0 - _t0.value, 0 - _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Expm1_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::expm1_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Exp2_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::exp2_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Log_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::log_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Log1p_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::log1p_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Log2_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::log2_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Log10_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::log10_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Sin_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::sin_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Cos_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::cos_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Tan_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::tan_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Asin_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::asin_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Acos_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::acos_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Atan_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::atan_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Sinh_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::sinh_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Cosh_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::cosh_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Asinh_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::asinh_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Acosh_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::acosh_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Atanh_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::atanh_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> Erf_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::erf_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline clad::ValueAndPushforward<double, double> ErfComplement_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::erfc_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline void Add_pullback(double a, double b, double _d_y, double *_d_a, double *_d_b) {
    {
        *_d_a += _d_y;
        *_d_b += _d_y;
    }
}
inline void Sub_pullback(double a, double b, double _d_y, double *_d_a, double *_d_b) {
    {
        *_d_a += _d_y;
        *_d_b += -_d_y;
    }
}
inline void Mul_pullback(double a, double b, double _d_y, double *_d_a, double *_d_b) {
    {
        *_d_a += _d_y * b;
        *_d_b += a * _d_y;
    }
}
inline void Maximum_pullback(double a, double b, double _d_y, double *_d_a, double *_d_b) {
    bool _cond0;
    bool _cond1;
    bool _cond2;
    bool _cond3;
    double _d_m = 0.;
    double m = a + b;
    {
        _cond0 = a > b;
        if (_cond0)
            m = a;
        else {
            _cond1 = b > a;
            if (_cond1)
                m = b;
            else {
                _cond2 = a == b;
                if (_cond2) {
                    _cond3 = std::abs(a) < 1;
                    m = _cond3 ? a + (b - a) / 2 : a / 2 + b / 2;
                }
            }
        }
    }
    _d_m += _d_y;
    if (_cond0) {
        *_d_a += _d_m;
        _d_m = 0.;
    } else if (_cond1) {
        *_d_b += _d_m;
        _d_m = 0.;
    } else if (_cond2) {
        if (_cond3) {
            *_d_a += _d_m;
            *_d_b += _d_m / 2;
            *_d_a += -_d_m / 2;
        } else {
            *_d_a += _d_m / 2;
            *_d_b += _d_m / 2;
        }
        _d_m = 0.;
    }
    {
        *_d_a += _d_m;
        *_d_b += _d_m;
    }
}
inline void Minimum_pullback(double a, double b, double _d_y, double *_d_a, double *_d_b) {
    bool _cond0;
    bool _cond1;
    bool _cond2;
    bool _cond3;
    double _d_m = 0.;
    double m = a + b;
    {
        _cond0 = a < b;
        if (_cond0)
            m = a;
        else {
            _cond1 = b < a;
            if (_cond1)
                m = b;
            else {
                _cond2 = a == b;
                if (_cond2) {
                    _cond3 = std::abs(a) < 1;
                    m = _cond3 ? a + (b - a) / 2 : a / 2 + b / 2;
                }
            }
        }
    }
    _d_m += _d_y;
    if (_cond0) {
        *_d_a += _d_m;
        _d_m = 0.;
    } else if (_cond1) {
        *_d_b += _d_m;
        _d_m = 0.;
    } else if (_cond2) {
        if (_cond3) {
            *_d_a += _d_m;
            *_d_b += _d_m / 2;
            *_d_a += -_d_m / 2;
        } else {
            *_d_a += _d_m / 2;
            *_d_b += _d_m / 2;
        }
        _d_m = 0.;
    }
    {
        *_d_a += _d_m;
        *_d_b += _d_m;
    }
}
inline void ClampMin_pullback(double z, double low, double _d_y, double *_d_z, double *_d_low) {
    bool _cond0;
    bool _cond1;
    double _d_m = 0.;
    double m = std::numeric_limits<double>::quiet_NaN();
    {
        _cond0 = z >= low;
        if (_cond0)
            m = z;
        else {
            _cond1 = z < low;
            if (_cond1)
                m = low;
        }
    }
    _d_m += _d_y;
    if (_cond0) {
        *_d_z += _d_m;
        _d_m = 0.;
    } else if (_cond1) {
        *_d_low += _d_m;
        _d_m = 0.;
    }
}
inline void ClampMax_pullback(double z, double high, double _d_y, double *_d_z, double *_d_high) {
    bool _cond0;
    bool _cond1;
    double _d_m = 0.;
    double m = std::numeric_limits<double>::quiet_NaN();
    {
        _cond0 = z <= high;
        if (_cond0)
            m = z;
        else {
            _cond1 = z > high;
            if (_cond1)
                m = high;
        }
    }
    _d_m += _d_y;
    if (_cond0) {
        *_d_z += _d_m;
        _d_m = 0.;
    } else if (_cond1) {
        *_d_high += _d_m;
        _d_m = 0.;
    }
}
inline void Leaky_pullback(double z, double slope, double _d_y, double *_d_z, double *_d_slope) {
    bool _cond0;
    double _d_factor = 0.;
    double factor = slope;
    {
        _cond0 = z > 0;
        if (_cond0)
            factor = 1;
    }
    {
        _d_factor += _d_y * z;
        *_d_z += factor * _d_y;
    }
    if (_cond0)
        _d_factor = 0.;
    *_d_slope += _d_factor;
}
inline clad::ValueAndPushforward<double, double> EluBelowZero_pushforward(double z, double _d_z) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::CladTorch::Kernels::Expm1OfNegative_pushforward(z, _d_z);
    return {_t0.value, _t0.pushforward};
}
inline void Elu_pullback(double z, double alpha, double _d_y, double *_d_z, double *_d_alpha) {
    bool _cond0;
    double _t0;
    double _d_m = 0.;
    double m = z;
    {
        _cond0 = !(z > 0);
        if (_cond0) {
            _t0 = EluBelowZero(z);
            m = alpha * _t0;
        }
    }
    _d_m += _d_y;
    if (_cond0) {
        *_d_alpha += _d_m * _t0;
        double _r0 = 0.;
        _r0 += alpha * _d_m * CladTorch::Kernels::EluBelowZero_pushforward(z, 1.).pushforward;
        *_d_z += _r0;
        _d_m = 0.;
    }
    *_d_z += _d_m;
}
inline void SoftplusBelow_pullback(double z, double threshold, double _d_y, double *_d_z, double *_d_threshold) {
    bool _cond0;
    double _d_m = 0.;
    double m = z;
    {
        _cond0 = !(z > threshold);
        if (_cond0)
            m = Softplus(z);
    }
    _d_m += _d_y;
    if (_cond0) {
        double _r0 = 0.;
        _r0 += _d_m * CladTorch::Kernels::Softplus_pushforward(z, 1.).pushforward;
        *_d_z += _r0;
        _d_m = 0.;
    }
    *_d_z += _d_m;
}
inline clad::ValueAndPushforward<double, double> SoftplusBelowZero_pushforward(double s, double _d_s) {
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::CladTorch::Kernels::ExpOfAny_pushforward(s, _d_s);
    ValueAndPushforward<double, double> _t1 = clad::custom_derivatives::CladTorch::Kernels::Log1pOfUnit_pushforward(_t0.value, _t0.pushforward);
    return {_t1.value, _t1.pushforward};
}
inline void LogitLoss_pullback(double z, double y, double _d_y0, double *_d_z, double *_d_y) {
    bool _cond0;
    double _d_s = 0.;
    double s = z;
    double _d_factor = 0.;
    double factor = -y;
    {
        _cond0 = z > 0;
        if (_cond0) {
            s = -z;
            factor = 1 - y;
        }
    }
    double _d_linear = 0.;
    double linear = factor * z;
    {
        _d_linear += _d_y0;
        double _r0 = 0.;
        _r0 += _d_y0 * CladTorch::Kernels::SoftplusBelowZero_pushforward(s, 1.).pushforward;
        _d_s += _r0;
    }
    {
        _d_factor += _d_linear * z;
        *_d_z += factor * _d_linear;
    }
    if (_cond0) {
        {
            *_d_y += -_d_factor;
            _d_factor = 0.;
        }
        {
            *_d_z += -_d_s;
            _d_s = 0.;
        }
    }
    *_d_y += -_d_factor;
    *_d_z += _d_s;
}
inline void HuberLoss_pullback(double d, double delta, double _d_y, double *_d_d, double *_d_delta) {
    bool _cond0;
    bool _cond1;
    double _d_m = 0.;
    double m;
    {
        _cond0 = d >= delta;
        if (_cond0)
            m = delta * (d - double(0.5) * delta);
        else {
            _cond1 = d <= -delta;
            if (_cond1)
                m = delta * (-d - double(0.5) * delta);
            else
                m = double(0.5) * d * d;
        }
    }
    _d_m += _d_y;
    if (_cond0) {
        *_d_delta += _d_m * (d - double(0.5) * delta);
        *_d_d += delta * _d_m;
        *_d_delta += double(0.5) * -delta * _d_m;
        _d_m = 0.;
    } else if (_cond1) {
        *_d_delta += _d_m * (-d - double(0.5) * delta);
        *_d_d += -delta * _d_m;
        *_d_delta += double(0.5) * -delta * _d_m;
        _d_m = 0.;
    } else {
        *_d_d += double(0.5) * _d_m * d;
        *_d_d += double(0.5) * d * _d_m;
        _d_m = 0.;
    }
}
inline void SmoothLoss_pullback(double d, double beta, double _d_y, double *_d_d, double *_d_beta) {
    bool _cond0;
    bool _cond1;
    double _d_m = 0.;
    double m;
    {
        _cond0 = d >= beta;
        if (_cond0)
            m = d - double(0.5) * beta;
        else {
            _cond1 = d <= -beta;
            if (_cond1)
                m = -d - double(0.5) * beta;
            else
                m = double(0.5) * d * d / beta;
        }
    }
    _d_m += _d_y;
    if (_cond0) {
        *_d_d += _d_m;
        *_d_beta += double(0.5) * -_d_m;
        _d_m = 0.;
    } else if (_cond1) {
        *_d_d += -_d_m;
        *_d_beta += double(0.5) * -_d_m;
        _d_m = 0.;
    } else {
        *_d_d += double(0.5) * _d_m / beta * d;
        *_d_d += double(0.5) * d * _d_m / beta;
        double _r0 = _d_m * -(double(0.5) * d * d / (beta * beta));
        *_d_beta += _r0;
        _d_m = 0.;
    }
}
inline void FiniteOr_pullback(double z, double other, double _d_y, double *_d_z, double *_d_other) {
    bool _cond0;
    bool _cond1;
    bool _cond2;
    double _d_greatest = 0.;
    const double greatest = std::numeric_limits<double>::max();
    double _d_m = 0.;
    double m = z;
    {
        _cond0 = z != z;
        if (_cond0)
            m = other;
    }
    {
        _cond1 = z > greatest;
        if (_cond1)
            m = greatest;
    }
    {
        _cond2 = z < -greatest;
        if (_cond2)
            m = -greatest;
    }
    _d_m += _d_y;
    if (_cond2) {
        _d_greatest += -_d_m;
        _d_m = 0.;
    }
    if (_cond1) {
        _d_greatest += _d_m;
        _d_m = 0.;
    }
    if (_cond0) {
        *_d_other += _d_m;
        _d_m = 0.;
    }
    *_d_z += _d_m;
}
inline void Where_pullback(double c, double a, double b, double _d_y, double *_d_c, double *_d_a, double *_d_b) {
    bool _cond0 = c != 0;
    if (_cond0)
        *_d_a += _d_y;
    else
        *_d_b += _d_y;
}
inline void Clamp_pullback(double z, double low, double high, double _d_y, double *_d_z, double *_d_low, double *_d_high) {
    bool _cond0;
    bool _cond1;
    bool _cond2;
    bool _cond3;
    double _d_m = 0.;
    double m = std::numeric_limits<double>::quiet_NaN();
    {
        _cond0 = z == z;
        if (_cond0) {
            m = z;
            {
                _cond1 = low > high;
                if (_cond1)
                    m = high;
                else {
                    _cond2 = z > high;
                    if (_cond2)
                        m = high;
                    else {
                        _cond3 = z < low;
                        if (_cond3)
                            m = low;
                    }
                }
            }
        }
    }
    _d_m += _d_y;
    if (_cond0) {
        if (_cond1) {
            *_d_high += _d_m;
            _d_m = 0.;
        } else if (_cond2) {
            *_d_high += _d_m;
            _d_m = 0.;
        } else if (_cond3) {
            *_d_low += _d_m;
            _d_m = 0.;
        }
        {
            *_d_z += _d_m;
            _d_m = 0.;
        }
    }
}
inline void EveryOperator_grad(double a, double b, double c, double *_d_a, double *_d_b, double *_d_c) {
    double _d_sum = 0.;
    double sum = 0;
    sum += Identity(a);
    sum += Neg(a);
    sum += Reciprocal(a);
    sum += Squared(a);
    sum += Sqrt(a);
    sum += Rsqrt(a);
    sum += Exp(a);
    sum += Tanh(a);
    sum += Abs(a);
    sum += Relu(a);
    sum += Sigmoid(a);
    sum += Silu(a);
    sum += Gelu(a);
    sum += GeluTanh(a);
    sum += LogSigmoid(a);
    sum += Expm1(a);
    sum += Exp2(a);
    sum += Log(a);
    sum += Log1p(a);
    sum += Log2(a);
    sum += Log10(a);
    sum += Sin(a);
    sum += Cos(a);
    sum += Tan(a);
    sum += Asin(a);
    sum += Acos(a);
    sum += Atan(a);
    sum += Sinh(a);
    sum += Cosh(a);
    sum += Asinh(a);
    sum += Acosh(a);
    sum += Atanh(a);
    sum += Erf(a);
    sum += ErfComplement(a);
    sum += Add(a, b);
    sum += Sub(a, b);
    sum += Mul(a, b);
    sum += Div(a, b);
    sum += Maximum(a, b);
    sum += Minimum(a, b);
    sum += ClampMin(a, b);
    sum += ClampMax(a, b);
    sum += Leaky(a, b);
    sum += Elu(a, b);
    sum += SoftplusBelow(a, b);
    sum += LogitLoss(a, b);
    sum += HuberLoss(a, b);
    sum += SmoothLoss(a, b);
    sum += Remainder(a, b);
    sum += Fmod(a, b);
    sum += Hypot(a, b);
    sum += FiniteOr(a, b);
    sum += Pow(a, b);
    sum += Atan2(a, b);
    sum += LogAddExp(a, b);
    sum += Xlogy(a, b);
    sum += Where(a, b, c);
    sum += Clamp(a, b, c);
    _d_sum += 1;
    {
        double _r65 = 0.;
        double _r66 = 0.;
        double _r67 = 0.;
        CladTorch::Kernels::Clamp_pullback(a, b, c, _d_sum, &_r65, &_r66, &_r67);
        *_d_a += _r65;
        *_d_b += _r66;
        *_d_c += _r67;
    }
    {
        double _r62 = 0.;
        double _r63 = 0.;
        double _r64 = 0.;
        CladTorch::Kernels::Where_pullback(a, b, c, _d_sum, &_r62, &_r63, &_r64);
        *_d_a += _r62;
        *_d_b += _r63;
        *_d_c += _r64;
    }
    {
        double _r60 = 0.;
        double _r61 = 0.;
        CladTorch::Kernels::FiniteOr_pullback(a, b, _d_sum, &_r60, &_r61);
        *_d_a += _r60;
        *_d_b += _r61;
    }
    {
        double _r58 = 0.;
        double _r59 = 0.;
        CladTorch::Kernels::SmoothLoss_pullback(a, b, _d_sum, &_r58, &_r59);
        *_d_a += _r58;
        *_d_b += _r59;
    }
    {
        double _r56 = 0.;
        double _r57 = 0.;
        CladTorch::Kernels::HuberLoss_pullback(a, b, _d_sum, &_r56, &_r57);
        *_d_a += _r56;
        *_d_b += _r57;
    }
    {
        double _r54 = 0.;
        double _r55 = 0.;
        CladTorch::Kernels::LogitLoss_pullback(a, b, _d_sum, &_r54, &_r55);
        *_d_a += _r54;
        *_d_b += _r55;
    }
    {
        double _r52 = 0.;
        double _r53 = 0.;
        CladTorch::Kernels::SoftplusBelow_pullback(a, b, _d_sum, &_r52, &_r53);
        *_d_a += _r52;
        *_d_b += _r53;
    }
    {
        double _r50 = 0.;
        double _r51 = 0.;
        CladTorch::Kernels::Elu_pullback(a, b, _d_sum, &_r50, &_r51);
        *_d_a += _r50;
        *_d_b += _r51;
    }
    {
        double _r48 = 0.;
        double _r49 = 0.;
        CladTorch::Kernels::Leaky_pullback(a, b, _d_sum, &_r48, &_r49);
        *_d_a += _r48;
        *_d_b += _r49;
    }
    {
        double _r46 = 0.;
        double _r47 = 0.;
        CladTorch::Kernels::ClampMax_pullback(a, b, _d_sum, &_r46, &_r47);
        *_d_a += _r46;
        *_d_b += _r47;
    }
    {
        double _r44 = 0.;
        double _r45 = 0.;
        CladTorch::Kernels::ClampMin_pullback(a, b, _d_sum, &_r44, &_r45);
        *_d_a += _r44;
        *_d_b += _r45;
    }
    {
        double _r42 = 0.;
        double _r43 = 0.;
        CladTorch::Kernels::Minimum_pullback(a, b, _d_sum, &_r42, &_r43);
        *_d_a += _r42;
        *_d_b += _r43;
    }
    {
        double _r40 = 0.;
        double _r41 = 0.;
        CladTorch::Kernels::Maximum_pullback(a, b, _d_sum, &_r40, &_r41);
        *_d_a += _r40;
        *_d_b += _r41;
    }
    {
        double _r38 = 0.;
        double _r39 = 0.;
        CladTorch::Kernels::Mul_pullback(a, b, _d_sum, &_r38, &_r39);
        *_d_a += _r38;
        *_d_b += _r39;
    }
    {
        double _r36 = 0.;
        double _r37 = 0.;
        CladTorch::Kernels::Sub_pullback(a, b, _d_sum, &_r36, &_r37);
        *_d_a += _r36;
        *_d_b += _r37;
    }
    {
        double _r34 = 0.;
        double _r35 = 0.;
        CladTorch::Kernels::Add_pullback(a, b, _d_sum, &_r34, &_r35);
        *_d_a += _r34;
        *_d_b += _r35;
    }
    {
        double _r33 = 0.;
        _r33 += _d_sum * CladTorch::Kernels::ErfComplement_pushforward(a, 1.).pushforward;
        *_d_a += _r33;
    }
    {
        double _r32 = 0.;
        _r32 += _d_sum * CladTorch::Kernels::Erf_pushforward(a, 1.).pushforward;
        *_d_a += _r32;
    }
    {
        double _r31 = 0.;
        _r31 += _d_sum * CladTorch::Kernels::Atanh_pushforward(a, 1.).pushforward;
        *_d_a += _r31;
    }
    {
        double _r30 = 0.;
        _r30 += _d_sum * CladTorch::Kernels::Acosh_pushforward(a, 1.).pushforward;
        *_d_a += _r30;
    }
    {
        double _r29 = 0.;
        _r29 += _d_sum * CladTorch::Kernels::Asinh_pushforward(a, 1.).pushforward;
        *_d_a += _r29;
    }
    {
        double _r28 = 0.;
        _r28 += _d_sum * CladTorch::Kernels::Cosh_pushforward(a, 1.).pushforward;
        *_d_a += _r28;
    }
    {
        double _r27 = 0.;
        _r27 += _d_sum * CladTorch::Kernels::Sinh_pushforward(a, 1.).pushforward;
        *_d_a += _r27;
    }
    {
        double _r26 = 0.;
        _r26 += _d_sum * CladTorch::Kernels::Atan_pushforward(a, 1.).pushforward;
        *_d_a += _r26;
    }
    {
        double _r25 = 0.;
        _r25 += _d_sum * CladTorch::Kernels::Acos_pushforward(a, 1.).pushforward;
        *_d_a += _r25;
    }
    {
        double _r24 = 0.;
        _r24 += _d_sum * CladTorch::Kernels::Asin_pushforward(a, 1.).pushforward;
        *_d_a += _r24;
    }
    {
        double _r23 = 0.;
        _r23 += _d_sum * CladTorch::Kernels::Tan_pushforward(a, 1.).pushforward;
        *_d_a += _r23;
    }
    {
        double _r22 = 0.;
        _r22 += _d_sum * CladTorch::Kernels::Cos_pushforward(a, 1.).pushforward;
        *_d_a += _r22;
    }
    {
        double _r21 = 0.;
        _r21 += _d_sum * CladTorch::Kernels::Sin_pushforward(a, 1.).pushforward;
        *_d_a += _r21;
    }
    {
        double _r20 = 0.;
        _r20 += _d_sum * CladTorch::Kernels::Log10_pushforward(a, 1.).pushforward;
        *_d_a += _r20;
    }
    {
        double _r19 = 0.;
        _r19 += _d_sum * CladTorch::Kernels::Log2_pushforward(a, 1.).pushforward;
        *_d_a += _r19;
    }
    {
        double _r18 = 0.;
        _r18 += _d_sum * CladTorch::Kernels::Log1p_pushforward(a, 1.).pushforward;
        *_d_a += _r18;
    }
    {
        double _r17 = 0.;
        _r17 += _d_sum * CladTorch::Kernels::Log_pushforward(a, 1.).pushforward;
        *_d_a += _r17;
    }
    {
        double _r16 = 0.;
        _r16 += _d_sum * CladTorch::Kernels::Exp2_pushforward(a, 1.).pushforward;
        *_d_a += _r16;
    }
    {
        double _r15 = 0.;
        _r15 += _d_sum * CladTorch::Kernels::Expm1_pushforward(a, 1.).pushforward;
        *_d_a += _r15;
    }
    {
        double _r14 = 0.;
        _r14 += _d_sum * CladTorch::Kernels::LogSigmoid_pushforward(a, 1.).pushforward;
        *_d_a += _r14;
    }
    {
        double _r13 = 0.;
        _r13 += _d_sum * CladTorch::Kernels::GeluTanh_pushforward(a, 1.).pushforward;
        *_d_a += _r13;
    }
    {
        double _r12 = 0.;
        _r12 += _d_sum * CladTorch::Kernels::Gelu_pushforward(a, 1.).pushforward;
        *_d_a += _r12;
    }
    {
        double _r11 = 0.;
        _r11 += _d_sum * CladTorch::Kernels::Silu_pushforward(a, 1.).pushforward;
        *_d_a += _r11;
    }
    {
        double _r10 = 0.;
        _r10 += _d_sum * CladTorch::Kernels::Sigmoid_pushforward(a, 1.).pushforward;
        *_d_a += _r10;
    }
    {
        double _r9 = 0.;
        _r9 += _d_sum * CladTorch::Kernels::Relu_pushforward(a, 1.).pushforward;
        *_d_a += _r9;
    }
    {
        double _r8 = 0.;
        _r8 += _d_sum * CladTorch::Kernels::Abs_pushforward(a, 1.).pushforward;
        *_d_a += _r8;
    }
    {
        double _r7 = 0.;
        _r7 += _d_sum * CladTorch::Kernels::Tanh_pushforward(a, 1.).pushforward;
        *_d_a += _r7;
    }
    {
        double _r6 = 0.;
        _r6 += _d_sum * CladTorch::Kernels::Exp_pushforward(a, 1.).pushforward;
        *_d_a += _r6;
    }
    {
        double _r5 = 0.;
        _r5 += _d_sum * CladTorch::Kernels::Rsqrt_pushforward(a, 1.).pushforward;
        *_d_a += _r5;
    }
    {
        double _r4 = 0.;
        _r4 += _d_sum * CladTorch::Kernels::Sqrt_pushforward(a, 1.).pushforward;
        *_d_a += _r4;
    }
    {
        double _r3 = 0.;
        _r3 += _d_sum * CladTorch::Kernels::Squared_pushforward(a, 1.).pushforward;
        *_d_a += _r3;
    }
    {
        double _r2 = 0.;
        _r2 += _d_sum * CladTorch::Kernels::Reciprocal_pushforward(a, 1.).pushforward;
        *_d_a += _r2;
    }
    {
        double _r1 = 0.;
        _r1 += _d_sum * CladTorch::Kernels::Neg_pushforward(a, 1.).pushforward;
        *_d_a += _r1;
    }
    {
        double _r0 = 0.;
        _r0 += _d_sum * CladTorch::Kernels::Identity_pushforward(a, 1.).pushforward;
        *_d_a += _r0;
    }
}

} // namespace CladTorch::Kernels
#pragma GCC diagnostic pop
