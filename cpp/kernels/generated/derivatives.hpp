/// \file derivatives.hpp
/// Clad's derivatives of the activations and losses by z, for float and double. Not to be edited.
// Made by Clad 2.5.0~dev (git 4b2c0eef17e298af448c22b08631923507cbb105)
// from activations.hpp, losses.hpp, exponential.hpp, pushforwards.hpp, derive.cpp
// sha256 of the inputs: cca006bb484e48769b416eecfed25de00ec1a0b1263809275a1cc09133c71087
// sha256 of the text below: 7d379d67f766fad46ce016ac7615d38f44b74eedda07ff6e0a90d860c77e1c09
// To make it again: cargo xtask gradients

#pragma once
#include "../pushforwards.hpp"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
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
inline float Tanh_darg0(float z) {
    float _d_z = 1;
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::CladTorch::Kernels::HyperbolicTangent_pushforward(z, _d_z);
    return _t0.pushforward;
}
inline double Tanh_darg0(double z) {
    double _d_z = 1;
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::CladTorch::Kernels::HyperbolicTangent_pushforward(z, _d_z);
    return _t0.pushforward;
}
inline float Sigmoid_darg0(float z) {
    float _d_z = 1;
    float _d_s = _d_z;
    float s = z;
    if (z >= 0) {
        _d_s = -_d_z;
        s = -z;
    }
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::CladTorch::Kernels::Exp_pushforward(s, _d_s);
    float _d_e = _t0.pushforward, _d_numerator = 0;
    float e = _t0.value, numerator = 1;
    if (z < 0) {
        _d_numerator = _d_e;
        numerator = e;
    }
    float _t1 = (1 + e);
    return (_d_numerator * _t1 - numerator * _d_e) / (_t1 * _t1);
}
inline double Sigmoid_darg0(double z) {
    double _d_z = 1;
    double _d_s = _d_z;
    double s = z;
    if (z >= 0) {
        _d_s = -_d_z;
        s = -z;
    }
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::CladTorch::Kernels::Exp_pushforward(s, _d_s);
    double _d_e = _t0.pushforward, _d_numerator = 0;
    double e = _t0.value, numerator = 1;
    if (z < 0) {
        _d_numerator = _d_e;
        numerator = e;
    }
    double _t1 = (1 + e);
    return (_d_numerator * _t1 - numerator * _d_e) / (_t1 * _t1);
}
inline clad::ValueAndPushforward<float, float> Sigmoid_pushforward(float z, float _d_z) {
    float _d_s = _d_z;
    float s = z;
    if (z >= 0) {
        _d_s = -_d_z;
        s = -z;
    }
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::CladTorch::Kernels::Exp_pushforward(s, _d_s);
    float _d_e = _t0.pushforward, _d_numerator = 0;
    float e = _t0.value, numerator = 1;
    if (z < 0) {
        _d_numerator = _d_e;
        numerator = e;
    }
    float _t1 = (1 + e);
    return {numerator / _t1, (_d_numerator * _t1 - numerator * _d_e) / (_t1 * _t1)};
}
inline float Silu_darg0(float z) {
    float _d_z = 1;
    clad::ValueAndPushforward<float, float> _t0 = CladTorch::Kernels::Sigmoid_pushforward(z, _d_z);
    float &_t1 = _t0.value;
    return _d_z * _t1 + z * _t0.pushforward;
}
inline clad::ValueAndPushforward<double, double> Sigmoid_pushforward(double z, double _d_z) {
    double _d_s = _d_z;
    double s = z;
    if (z >= 0) {
        _d_s = -_d_z;
        s = -z;
    }
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::CladTorch::Kernels::Exp_pushforward(s, _d_s);
    double _d_e = _t0.pushforward, _d_numerator = 0;
    double e = _t0.value, numerator = 1;
    if (z < 0) {
        _d_numerator = _d_e;
        numerator = e;
    }
    double _t1 = (1 + e);
    return {numerator / _t1, (_d_numerator * _t1 - numerator * _d_e) / (_t1 * _t1)};
}
inline double Silu_darg0(double z) {
    double _d_z = 1;
    clad::ValueAndPushforward<double, double> _t0 = CladTorch::Kernels::Sigmoid_pushforward(z, _d_z);
    double &_t1 = _t0.value;
    return _d_z * _t1 + z * _t0.pushforward;
}
inline float Gelu_darg0(float z) {
    float _d_z = 1;
    float _t0 = float(0.5);
    float _t1 = float(-0.70710678118654757);
    ValueAndPushforward<float, float> _t2 = clad::custom_derivatives::std::erfc_pushforward(z * _t1, _d_z * _t1);
    float _t3 = _t0 * z;
    float &_t4 = _t2.value;
    return (_t0 * _d_z) * _t4 + _t3 * _t2.pushforward;
}
inline double Gelu_darg0(double z) {
    double _d_z = 1;
    double _t0 = double(0.5);
    double _t1 = double(-0.70710678118654757);
    ValueAndPushforward<double, double> _t2 = clad::custom_derivatives::std::erfc_pushforward(z * _t1, _d_z * _t1);
    double _t3 = _t0 * z;
    double &_t4 = _t2.value;
    return (_t0 * _d_z) * _t4 + _t3 * _t2.pushforward;
}
inline float Softplus_darg0(float z) {
    float _d_z = 1;
    float _d_s = _d_z, _d_linear = 0;
    float s = z, linear = 0;
    if (z > 0) {
        _d_s = -_d_z;
        s = -z;
        _d_linear = _d_z;
        linear = z;
    }
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::CladTorch::Kernels::Exp_pushforward(s, _d_s);
    ValueAndPushforward<float, float> _t1 = clad::custom_derivatives::CladTorch::Kernels::Log1pOfUnit_pushforward(_t0.value, _t0.pushforward);
    return _d_linear + _t1.pushforward;
}
inline double Softplus_darg0(double z) {
    double _d_z = 1;
    double _d_s = _d_z, _d_linear = 0;
    double s = z, linear = 0;
    if (z > 0) {
        _d_s = -_d_z;
        s = -z;
        _d_linear = _d_z;
        linear = z;
    }
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::CladTorch::Kernels::Exp_pushforward(s, _d_s);
    ValueAndPushforward<double, double> _t1 = clad::custom_derivatives::CladTorch::Kernels::Log1pOfUnit_pushforward(_t0.value, _t0.pushforward);
    return _d_linear + _t1.pushforward;
}
inline float BinaryCrossEntropy_darg0(float z, float y) {
    float _d_z = 1;
    float _d_y = 0;
    float _d_s = _d_z, _d_linear = 0;
    float s = z, linear = 0;
    if (z > 0) {
        _d_s = -_d_z;
        s = -z;
        _d_linear = _d_z;
        linear = z;
    }
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::CladTorch::Kernels::Exp_pushforward(s, _d_s);
    ValueAndPushforward<float, float> _t1 = clad::custom_derivatives::CladTorch::Kernels::Log1pOfUnit_pushforward(_t0.value, _t0.pushforward);
    return _d_linear - (_d_y * z + y * _d_z) + _t1.pushforward;
}
inline double BinaryCrossEntropy_darg0(double z, double y) {
    double _d_z = 1;
    double _d_y = 0;
    double _d_s = _d_z, _d_linear = 0;
    double s = z, linear = 0;
    if (z > 0) {
        _d_s = -_d_z;
        s = -z;
        _d_linear = _d_z;
        linear = z;
    }
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::CladTorch::Kernels::Exp_pushforward(s, _d_s);
    ValueAndPushforward<double, double> _t1 = clad::custom_derivatives::CladTorch::Kernels::Log1pOfUnit_pushforward(_t0.value, _t0.pushforward);
    return _d_linear - (_d_y * z + y * _d_z) + _t1.pushforward;
}
inline float SoftmaxCrossEntropy_darg0(float z, float rest, float target) {
    float _d_z = 1;
    float _d_rest = 0;
    float _d_target = 0;
    ValueAndPushforward<float, float> _t0 = clad::custom_derivatives::std::expm1_pushforward(z, _d_z);
    ValueAndPushforward<float, float> _t1 = clad::custom_derivatives::std::log1p_pushforward(rest + _t0.value, _d_rest + _t0.pushforward);
    return _t1.pushforward - (_d_target * z + target * _d_z);
}
inline double SoftmaxCrossEntropy_darg0(double z, double rest, double target) {
    double _d_z = 1;
    double _d_rest = 0;
    double _d_target = 0;
    ValueAndPushforward<double, double> _t0 = clad::custom_derivatives::std::expm1_pushforward(z, _d_z);
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

} // namespace CladTorch::Kernels
#pragma GCC diagnostic pop
