/// \file objects.h
/// \brief Classes with one member of each kind, for trees whose columns data frames read correctly, wrongly or not at
/// all.

#ifndef CLADTORCH_TEST_OBJECTS
#define CLADTORCH_TEST_OBJECTS

#include <TClonesArray.h>
#include <TFile.h>
#include <TObject.h>
#include <TTree.h>

#include <array>
#include <bitset>
#include <deque>
#include <list>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

struct Inner {
   int a = 0;
   float b = 0;
};

/// Calls `Kind(name, type, dimensions)` for each kind of member.
#define CLADTORCH_KINDS(Kind)                                                                                          \
   Kind(Number, double, ) Kind(Flag, bool, ) Kind(Packed, Double32_t, ) Kind(Fixed, short, [3])                        \
   Kind(Matrix, float, [2][2]) Kind(Ints, std::vector<int>, ) Kind(Bits, std::vector<bool>, )                          \
   Kind(Deep, std::vector<std::vector<short>>, ) Kind(Set, std::set<int>, )                                            \
   Kind(Sets, std::vector<std::set<int>>, ) Kind(List, std::list<float>, ) Kind(Deque, std::deque<int>, )              \
   Kind(Text, std::string, ) Kind(Object, Inner, ) Kind(Objects, std::vector<Inner>, )                        \
   Kind(Bitset, std::bitset<9>, )

/// Each kind in a struct of its own, and in a class that a TClonesArray can hold.
#define CLADTORCH_DEFINE(name, type, dimensions)                                                                       \
   struct name##Struct {                                                                                               \
      int id = 0;                                                                                                      \
      type m dimensions;                                                                                               \
   };                                                                                                                  \
   class name##Class : public TObject {                                                                                \
   public:                                                                                                             \
      int id = 0;                                                                                                      \
      type m dimensions;                                                                                               \
      ClassDefOverride(name##Class, 1)                                                                                 \
   };
CLADTORCH_KINDS(CLADTORCH_DEFINE)

/// An array whose length is another member.
class CountClass : public TObject {
public:
   CountClass() = default;
   CountClass(const CountClass &) = delete;
   ~CountClass() override { delete[] m; }
   int id = 0;
   int n = 0;
   float *m = nullptr; //[n]
   ClassDefOverride(CountClass, 1)
};

struct Base {
   int b = 0;
};
/// A base class that does not begin at the start of the object.
class DerivedClass : public TObject, public Base {
public:
   int id = 0;
   ClassDefOverride(DerivedClass, 1)
};

/// An object whose members have the names of another branch's.
struct Event {
   int run = 0;
   int values[4] = {};
   std::vector<NumberStruct> twins;
};

#endif
