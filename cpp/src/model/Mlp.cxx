#include <CladTorch/Mlp.hxx>
#include <CladTorch/Guard.hxx>

#include "CoreBox.hxx"
#include "Interrupt.hxx"

namespace CladTorch {

using namespace Internal;

namespace {
std::shared_ptr<ModelData> Drawn(rust::Box<Core::Model> core)
{
   auto data = std::make_shared<ModelData>(std::move(core));
   data->fDrawn = true;
   return data;
}
} // namespace

Mlp::Mlp(const std::vector<std::size_t> &sizes, EActivation activation, EInit init, std::uint64_t seed)
   : Mlp(LongCall("CladTorch::Mlp", [&] {
        return Drawn(Core::model_new({sizes.data(), sizes.size()}, static_cast<Core::Activation>(activation),
                                     static_cast<Core::Init>(init), seed));
     }), FromCore())
{
}

Mlp::Mlp(const std::vector<std::size_t> &sizes, const MlpOptions &options)
   : Mlp(LongCall("CladTorch::Mlp", [&] {
        const auto activation = static_cast<Core::Activation>(options.fActivation);
        const auto init = static_cast<Core::Init>(options.fInit);
        if (options.fNormalisation == kNoNormalisation && options.fDropout == 0)
           return Drawn(Core::model_new(Slice(sizes), activation, init, options.fSeed));
        return Drawn(Core::model_new_regularised(Slice(sizes), activation, init, options.fSeed,
                                                 static_cast<Core::Normalisation>(options.fNormalisation), options.fDropout));
     }), FromCore())
{
}

Mlp::Mlp(const std::vector<std::size_t> &sizes, const std::string &activation, EInit init, std::uint64_t seed)
   : Mlp(LongCall("CladTorch::Mlp", [&] {
        return Drawn(Core::model_new_custom({sizes.data(), sizes.size()}, activation, static_cast<Core::Init>(init),
                                         seed));
     }, "the compilation of the activation"), FromCore())
{
}

Mlp::Mlp(std::shared_ptr<ModelData> data, FromCore) : Model(data, FromCore())
{
   data->fClass = "Mlp";
}

Mlp Mlp::Load(const std::string &path, const std::string &activation)
{
   return LongCall("CladTorch::Mlp::Load", [&] { return Mlp(LoadModel(Core::mlp_load, path, activation), FromCore()); });
}

} // namespace CladTorch
