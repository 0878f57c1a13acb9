# What Doxygen reads of a macro: its first comment, its picture in data/ if there is one, its source and that of its twin in Python.
/^\/\/\// { print; next }
{
   name = FILENAME
   sub(/.*\//, "", name)
   sub(/[.]C$/, "", name)
   show("\\image html", "data/" name ".png", "")
   show("\\include", FILENAME, "")
   twin = FILENAME
   sub(/[.]C$/, ".py", twin)
   show("\\include", twin, "In Python:")
   exit
}

function show(command, path, title) {
   if ((getline first < path) > 0)
      print "///\n/// " title "\n/// " command " " path
}
