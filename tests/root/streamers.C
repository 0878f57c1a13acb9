/// \file streamers.C
/// \brief Every class of the dictionary against ROOT's ways to write an object: each refuses with a message.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>

#include "check.h"

#include <TBufferFile.h>
#include <TBufferJSON.h>
#include <TClassTable.h>
#include <TFile.h>
#include <TMemFile.h>
#include <TTree.h>

/// Every class of the library has a streamer that refuses; a forgotten class has none.
void every_class()
{
   int classes = 0;
   gClassTable->Init();
   while (const char *name = gClassTable->Next()) {
      if (std::string(name).rfind("CladTorch::", 0) != 0)
         continue;
      auto *type = TClass::GetClass(name);
      if (!type || type->Property() & kIsNamespace)
         continue;
      ++classes;
      std::printf("%s\n", name);
      CHECK(type->GetStreamer() != nullptr);
   }
   CHECK(classes >= 16);
}

template <class T>
void refused(T &object)
{
   auto *type = TClass::GetClass<T>();
   TMemFile file("streamers.root", "RECREATE");
   const char *name = type->GetName();
   Refuses("a file refuses it", [&] { file.WriteObject(&object, "object"); }, {name, "has no streamer"});
   Refuses("JSON refuses it", [&] { TBufferJSON::ConvertToJSON(&object, type); }, {name, "has no streamer"});
   Refuses("a tree refuses it",
           [&] {
              TTree tree("tree", "");
              tree.Branch("object", &object);
              tree.Fill();
           },
           {name, "has no streamer"});
   TBufferFile buffer(TBuffer::kWrite);
   Refuses("a buffer refuses it", [&] { buffer.WriteObjectAny(&object, type); }, {name, "has no streamer"});
}

void streamers()
{
   every_class();
   CladTorch::Mlp model({2, 1});
   CladTorch::Dataset data({"x"});
   CladTorch::FitOptions options;
   CladTorch::History history;
   auto functor = model.Functor();
   auto view = model.Parameters();
   refused(model);
   refused(data);
   refused(options);
   refused(history);
   refused(functor);
   refused(view);
   Passed();
}
